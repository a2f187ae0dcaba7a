import type { Migration } from './store.ts';

/**
 * The schema, forward only: a released entry is never changed, a change is a further entry.
 * Times are milliseconds since the epoch. Money is in whole nano-dollars, so that sums are exact.
 */
export const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE environment (id TEXT PRIMARY KEY, variables TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE repository (
    id TEXT PRIMARY KEY,
    common_dir TEXT NOT NULL UNIQUE,
    main TEXT NOT NULL,
    land_to TEXT CHECK (land_to IN ('local', 'remote')),
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE session (
    id TEXT PRIMARY KEY,
    key TEXT,
    title TEXT NOT NULL,
    repository TEXT NOT NULL REFERENCES repository (id),
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    remote TEXT,
    worktree TEXT NOT NULL,
    git_dir TEXT,
    folder TEXT NOT NULL DEFAULT '',
    agent TEXT NOT NULL,
    model TEXT,
    mode TEXT,
    environment TEXT NOT NULL REFERENCES environment (id),
    bring_changes INTEGER NOT NULL DEFAULT 0,
    terminal TEXT,
    shell TEXT,
    agent_fact TEXT NOT NULL,
    landing TEXT NOT NULL,
    life TEXT NOT NULL,
    reason TEXT,
    demand TEXT,
    outcome TEXT,
    since INTEGER NOT NULL,
    unread INTEGER NOT NULL DEFAULT 0,
    parent TEXT REFERENCES session (id),
    fork_turn INTEGER,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    archived_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX session_key ON session (key) WHERE key IS NOT NULL AND archived_at IS NULL;
  CREATE INDEX session_repository ON session (repository);

  CREATE TABLE agent_session (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    id TEXT NOT NULL,
    transcript TEXT,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (session, ordinal)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX agent_session_id ON agent_session (id);

  CREATE TABLE hook_event (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE prompt (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'confirmed', 'failed')),
    via TEXT NOT NULL CHECK (via IN ('launch', 'paste')),
    tries INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    sent_at INTEGER,
    confirmed_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX prompt_session ON prompt (session, state);

  CREATE TABLE turn (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    agent_session TEXT NOT NULL,
    event TEXT NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT,
    outcome TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (session, n),
    UNIQUE (session, event)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE queue_entry (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES session (id),
    repository TEXT NOT NULL REFERENCES repository (id),
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    target TEXT NOT NULL,
    remote TEXT,
    method TEXT NOT NULL,
    check_command TEXT,
    with_local_commits INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    reason TEXT,
    message TEXT,
    paths TEXT NOT NULL DEFAULT '[]',
    head TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    base_moved INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    landed TEXT,
    queued_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    ended_at INTEGER,
    retry_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX queue_entry_open ON queue_entry (session) WHERE ended_at IS NULL;

  CREATE TABLE landing_intent (
    entry TEXT PRIMARY KEY REFERENCES queue_entry (id),
    base_seen TEXT NOT NULL,
    head TEXT NOT NULL,
    tree TEXT NOT NULL,
    new_commit TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE base_seen (
    repository TEXT NOT NULL REFERENCES repository (id),
    base TEXT NOT NULL,
    target TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    PRIMARY KEY (repository, base, target)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    state TEXT,
    entry TEXT,
    message TEXT NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE transcript (
    path TEXT PRIMARY KEY,
    inode TEXT NOT NULL,
    born INTEGER NOT NULL,
    read_to INTEGER NOT NULL,
    tail TEXT NOT NULL,
    malformed INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE request (
    id INTEGER PRIMARY KEY,
    message TEXT NOT NULL,
    request TEXT NOT NULL,
    payer TEXT NOT NULL,
    copied INTEGER NOT NULL,
    born INTEGER NOT NULL,
    side_chain INTEGER NOT NULL,
    replayed INTEGER NOT NULL,
    at INTEGER NOT NULL,
    cwd TEXT NOT NULL,
    branch TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    web_searches INTEGER NOT NULL,
    speed TEXT NOT NULL,
    geo TEXT NOT NULL,
    nano INTEGER,
    UNIQUE (message, request)
  ) STRICT;
  CREATE INDEX request_payer ON request (payer, at);

  CREATE TABLE request_copy (
    agent_session TEXT NOT NULL,
    request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_session, request)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE intent (
    entry TEXT NOT NULL REFERENCES queue_entry (id),
    new_commit TEXT NOT NULL,
    base_seen TEXT NOT NULL,
    head TEXT NOT NULL,
    tree TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    PRIMARY KEY (entry, new_commit)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO intent SELECT entry, new_commit, base_seen, head, tree, created_at, 1 FROM landing_intent;
  DROP TABLE landing_intent;
  ALTER TABLE intent RENAME TO landing_intent;
  CREATE UNIQUE INDEX landing_intent_open ON landing_intent (entry) WHERE is_open = 1;
  `,
  `
  ALTER TABLE session ADD COLUMN family TEXT NOT NULL DEFAULT '';
  UPDATE session SET family = id;
  CREATE INDEX session_family ON session (family);
  ALTER TABLE queue_entry ADD COLUMN after_sessions TEXT NOT NULL DEFAULT '[]';
  `,
  `
  CREATE INDEX request_copy_request ON request_copy (request);

  -- The sum of a session's requests, changed together with them. A session without a row is added up when asked for.
  CREATE TABLE session_cost (
    session TEXT PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    own INTEGER NOT NULL,
    "all" INTEGER NOT NULL,
    unpriced INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- Which requests are whose depends on the conversations of all sessions that have had the same one.
  CREATE TRIGGER agent_session_added AFTER INSERT ON agent_session BEGIN
    DELETE FROM session_cost
    WHERE session = NEW.session OR session IN (SELECT session FROM agent_session WHERE id = NEW.id);
  END;
  CREATE TRIGGER agent_session_removed AFTER DELETE ON agent_session BEGIN
    DELETE FROM session_cost
    WHERE session = OLD.session OR session IN (SELECT session FROM agent_session WHERE id = OLD.id);
  END;
  CREATE TRIGGER agent_session_changed AFTER UPDATE OF session, ordinal, id, started_at ON agent_session BEGIN
    DELETE FROM session_cost
    WHERE session IN (OLD.session, NEW.session)
      OR session IN (SELECT session FROM agent_session WHERE id IN (OLD.id, NEW.id));
  END;
  `,
  `
  CREATE TABLE turn_message (
    session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    event TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, n, event)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE session ADD COLUMN need INTEGER NOT NULL DEFAULT 0;
  `,
  `
  ALTER TABLE session ADD COLUMN starts INTEGER NOT NULL DEFAULT 1;
  `,
  `
  -- The client's id of the request that made it: asked for again, it is the same one.
  ALTER TABLE prompt ADD COLUMN request TEXT;
  CREATE UNIQUE INDEX prompt_request ON prompt (request) WHERE request IS NOT NULL;
  ALTER TABLE session ADD COLUMN request TEXT;
  CREATE INDEX session_request ON session (request) WHERE request IS NOT NULL;
  `,
  `
  ALTER TABLE queue_entry ADD COLUMN rewound_to TEXT;
  ALTER TABLE queue_entry ADD COLUMN troubles INTEGER NOT NULL DEFAULT 0;
  `,
  `
  -- A conflict that an entry's own agent gets, once for each time that it is asked.
  CREATE TABLE hand_back (
    entry TEXT NOT NULL REFERENCES queue_entry (id),
    n INTEGER NOT NULL,
    try INTEGER NOT NULL,
    kind TEXT NOT NULL,
    phase TEXT NOT NULL,
    begun INTEGER NOT NULL,
    base_commit TEXT NOT NULL,
    tip TEXT NOT NULL,
    paths TEXT NOT NULL,
    missing TEXT,
    request TEXT NOT NULL,
    turns INTEGER NOT NULL,
    result TEXT,
    accepted TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (entry, n)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX hand_back_open ON hand_back (entry) WHERE phase <> 'closed';
  `,
];
