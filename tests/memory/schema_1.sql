-- A memory database as the first schema wrote it. Never change this file: databases like it exist.

PRAGMA journal_mode = WAL;
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last_memory INTEGER NOT NULL DEFAULT 0,
    memories INTEGER NOT NULL DEFAULT 0,
    memory_bytes INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    message_bytes INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    key TEXT NOT NULL,
    content TEXT NOT NULL,
    summary TEXT,
    categories TEXT NOT NULL,
    metadata TEXT NOT NULL,
    source TEXT NOT NULL,
    digest BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    last_used_at REAL,
    usage_count INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, key)
);
CREATE INDEX memories_by_content ON memories (scope, digest);
CREATE INDEX memories_by_use ON memories (scope, coalesce(last_used_at, created_at));
CREATE VIRTUAL TABLE memory_words USING fts5 (
    content, summary, categories, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
    UPDATE scopes SET memories = memories + 1, memory_bytes = memory_bytes + new.bytes WHERE id = new.scope;
END;
CREATE TRIGGER memory_resized AFTER UPDATE OF bytes ON memories BEGIN
    UPDATE scopes SET memory_bytes = memory_bytes - old.bytes + new.bytes WHERE id = new.scope;
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
    UPDATE scopes SET memories = memories - 1, memory_bytes = memory_bytes - old.bytes WHERE id = old.scope;
END;
CREATE TABLE conversations (
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    session TEXT NOT NULL,
    last_message INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope, session)
);
CREATE INDEX conversations_by_time ON conversations (scope, last_message);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes (id),
    conversation INTEGER NOT NULL REFERENCES conversations (id),
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    folded TEXT,
    bytes INTEGER NOT NULL,
    created_at REAL NOT NULL
);
CREATE INDEX messages_by_age ON messages (scope, id);
CREATE INDEX messages_by_conversation ON messages (conversation, id);
CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
    UPDATE conversations SET last_message = new.id WHERE id = new.conversation;
    UPDATE scopes SET messages = messages + 1, message_bytes = message_bytes + new.bytes WHERE id = new.scope;
END;
CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
    DELETE FROM conversations WHERE id = old.conversation AND last_message = old.id;
    UPDATE scopes SET messages = messages - 1, message_bytes = message_bytes - old.bytes WHERE id = old.scope;
END;
INSERT INTO scopes (id, name, last_memory) VALUES (1, 'user:ada', 1);
INSERT INTO memories (id, scope, key, content, summary, categories, metadata, source, digest, bytes, created_at, updated_at)
VALUES (4294967297, 1, 'm1', 'Eio 实现并发', 'OCaml 并发技术栈', '["架构"]', '{"n":1}', 'tool',
    X'06bd2a8705c06df154d1152f1cd1bc4eef3e9a5e76ba2d5d408e7d23c55bdbda', 54, 1700000000.5, 1700000000.5);
INSERT INTO memory_words (rowid, content, summary, categories)
VALUES (4294967297, 'Eio  实现 现并 并发 发 ', 'OCaml  并发 发技 技术 术栈 栈 ', ' 架构 构 ');
INSERT INTO conversations (id, scope, session) VALUES (1, 1, 's1');
INSERT INTO messages (scope, conversation, role, content, folded, bytes, created_at)
VALUES (1, 1, 'user', 'Die Straße', 'die strasse', 11, 1700000000.5);
PRAGMA application_id = 1886675789;
PRAGMA user_version = 1;
