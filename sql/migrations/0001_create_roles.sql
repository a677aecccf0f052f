-- The four roles. They cannot log in: grant them to the logins of your services.
-- Creating roles and granting on a schema takes an administrator. Where the migrating user is none (managed
-- PostgreSQL), an administrator runs this file by hand, then `GRANT rewrite_owner TO <migrating user>`;
-- everything here is skipped when it is already so.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['rewrite_owner', 'rewrite_orchestrator', 'rewrite_worker', 'rewrite_analyst']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- roles belong to the whole cluster: another database was migrated at the same moment
            END;
        END IF;
    END LOOP;

    IF NOT pg_has_role(current_user, 'rewrite_owner', 'USAGE') THEN
        EXECUTE format('GRANT rewrite_owner TO %I', current_user);
    END IF;

    IF NOT has_schema_privilege('rewrite_owner', 'public', 'CREATE') THEN
        GRANT USAGE, CREATE ON SCHEMA public TO rewrite_owner;
    END IF;
    IF has_schema_privilege('public', 'public', 'CREATE') THEN
        -- A schema that anybody can write to would let anybody shadow what our functions call.
        REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    END IF;
    IF NOT has_schema_privilege('rewrite_worker', 'public', 'USAGE') THEN
        GRANT USAGE ON SCHEMA public TO rewrite_orchestrator, rewrite_worker, rewrite_analyst;
    END IF;
END
$$;

ALTER TABLE IF EXISTS public.schema_migrations OWNER TO rewrite_owner;
