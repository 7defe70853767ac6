ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS ephemeral BOOLEAN NOT NULL DEFAULT FALSE;

-- cleanup
CREATE INDEX IF NOT EXISTS idx_api_keys_ephemeral_expired ON api_keys (status, expires_at) WHERE ephemeral = TRUE;
