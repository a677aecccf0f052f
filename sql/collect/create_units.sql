-- Which units of the chunk this transaction has locked, and what becomes of each; gone with the transaction.
CREATE TEMP TABLE held_unit (
    batch_item_index int PRIMARY KEY,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    becomes text NOT NULL,
    reason text NOT NULL
) ON COMMIT DROP
