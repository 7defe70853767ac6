-- The original adds the column without a default, which fails when there are keys already. Here they get an empty
-- one, and validation says that they are bound to no subscription.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS subscription TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ALTER COLUMN subscription DROP DEFAULT;
