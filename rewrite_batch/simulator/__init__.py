"""A stateful stand-in for the provider's Files, Batches and Responses endpoints, with a billing ledger.

It serves on loopback only, needs the `simulator` extra, and is what the demo and the tests talk to. Requests
of the real client arrive; answers in the provider's shapes leave. A second port takes orders: see `control`.
"""
