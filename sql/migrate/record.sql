-- Records a migration, first thing in the transaction that runs it: both happen or neither. A second record of the
-- same version fails on the key.
INSERT INTO public.schema_migrations (version, name, sha256)
VALUES (%(version)s, %(name)s, %(sha256)s)
