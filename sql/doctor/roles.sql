-- Reads who is connected and which of the four roles it has; a role that does not exist is not had.
SELECT
    current_user,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rewrite_owner' AND pg_has_role(oid, 'USAGE')),
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rewrite_orchestrator' AND pg_has_role(oid, 'USAGE')),
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rewrite_worker' AND pg_has_role(oid, 'USAGE')),
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'rewrite_analyst' AND pg_has_role(oid, 'USAGE'))
