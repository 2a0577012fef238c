-- The record of a fleet: workers, sessions, the entries of each, and what is asked of each.
create schema if not exists holdfast;

create table holdfast.worker (
    id text primary key, -- new with every process start
    slot int generated always as identity unique, -- the advisory lock (7204, slot) is held while it lives
    until timestamptz not null, -- alive while this is in the future, by this server's clock alone
    since timestamptz not null default clock_timestamp(),
    about jsonb not null default '{}'
);

create table holdfast.session (
    id text primary key,
    length int not null default 0,
    sum bytea not null default '', -- the chained sum of the last entry
    lease uuid, -- random, new with every taking: the fencing token
    epoch bigint not null default 0,
    holder text,
    wake timestamptz, -- something waits since then; cleared only when the lease is given back
    tries int not null default 0, -- holders that died in an open turn since a turn last finished
    held text not null default '', -- why it waits for a user
    place jsonb not null default '{}',
    face jsonb not null default '{}', -- what a list shows: title, model, cwd, open, asking, cost
    made timestamptz not null default clock_timestamp(),
    changed timestamptz not null default clock_timestamp(),
    moved text not null default ''
) with (fillfactor = 80);
create index session_wake on holdfast.session (wake) where wake is not null;
create index session_holder on holdfast.session (holder) where holder is not null;
create index session_made on holdfast.session (made desc, id desc);

create table holdfast.entry (
    session text not null references holdfast.session (id),
    seq int not null,
    at float8 not null,
    kind text not null,
    body bytea not null,
    sum bytea not null,
    primary key (session, seq)
);
alter table holdfast.entry alter column body set storage external; -- JSON of a few hundred bytes: no time for compression

create table holdfast.inbox (
    id bigint generated always as identity primary key,
    session text not null references holdfast.session (id),
    kind text not null,
    body jsonb not null,
    key text not null,
    sender text not null default '',
    at timestamptz not null default clock_timestamp(),
    seq int,
    done timestamptz,
    refused text not null default '',
    unique (session, key)
);
create index inbox_waiting on holdfast.inbox (session, id) where done is null;

create function holdfast.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'Entries of a journal are never changed or deleted (session %, entry %).', old.session, old.seq
        using errcode = 'HF001';
end $$;
create trigger entry_is_final before update or delete on holdfast.entry
    for each row execute function holdfast.refuse_change();
create trigger entry_is_not_emptied before truncate on holdfast.entry
    for each statement execute function holdfast.refuse_change();
