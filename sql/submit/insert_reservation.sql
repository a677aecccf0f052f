-- Tokens and money set aside for the batch, in the transaction that plans it; one a batch.
INSERT INTO token_reservations (batch_id, model, reserved_tokens, reserved_usd)
VALUES (%(batch_id)s, %(model)s, %(reserved_tokens)s, %(reserved_usd)s)
