-- The PostgreSQL schema after its third migration. Times are microseconds since 1970, groups a JSON array.
CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    username     TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL,
    key_hash     TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'revoked', 'expired')),
    user_groups  TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    ephemeral    BOOLEAN NOT NULL DEFAULT FALSE,
    subscription TEXT NOT NULL
);

CREATE INDEX idx_api_keys_username_created ON api_keys (username, created_at DESC);
CREATE UNIQUE INDEX idx_api_keys_key_hash ON api_keys (key_hash);
CREATE INDEX idx_api_keys_ephemeral_expired ON api_keys (expires_at) WHERE ephemeral;
