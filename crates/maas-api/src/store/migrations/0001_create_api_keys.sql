-- The original's first migration, column for column: a database can move between the two programs.
CREATE TABLE IF NOT EXISTS api_keys (
    id           TEXT PRIMARY KEY,
    username     TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT,
    key_hash     TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'active',
    user_groups  TEXT[] NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    CONSTRAINT api_keys_status_check CHECK (status IN ('active', 'revoked', 'expired'))
);

-- a user's keys, newest first
CREATE INDEX IF NOT EXISTS idx_api_keys_username_created ON api_keys (username, created_at DESC);
-- validation
CREATE UNIQUE INDEX IF NOT EXISTS idx_api_keys_key_hash ON api_keys (key_hash);
-- the original's; no query of ours needs these two
CREATE INDEX IF NOT EXISTS idx_api_keys_last_used ON api_keys (last_used_at) WHERE last_used_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_api_keys_user_groups ON api_keys USING GIN (user_groups);
