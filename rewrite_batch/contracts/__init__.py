"""The V1 shapes of the contracts: typed, strict at the boundary, each with a JSON Schema to print."""
