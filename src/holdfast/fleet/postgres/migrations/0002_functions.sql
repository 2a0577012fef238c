-- What workers and services do with the record. They own no table: each function checks in its own transaction.

create function holdfast.is_alive(w text) returns boolean language sql security definer as $$
    select exists (select from holdfast.worker where id = w and until > clock_timestamp())
$$;

-- A worker begins: returns its slot.
create function holdfast.be_born(w text, ttl float8, about jsonb) returns int language sql security definer as $$
    insert into holdfast.worker (id, until, about)
    values (w, clock_timestamp() + make_interval(secs => ttl), about) returning slot
$$;

-- A worker is still there: false if it was declared dead. Who was declared dead stays dead.
create function holdfast.beat(w text, ttl float8) returns boolean language plpgsql security definer as $$
begin
    update holdfast.worker set until = clock_timestamp() + make_interval(secs => ttl)
    where id = w and until > clock_timestamp();
    return found;
end $$;

-- A worker has ended, or the caller holds its advisory lock: its connection is gone.
create function holdfast.bury(w text) returns void language sql security definer as $$
    update holdfast.worker set until = clock_timestamp() where id = w and until > clock_timestamp()
$$;

-- Take the session, or say who has it. `crashed`: the holder before died and a turn is open.
create function holdfast.take(s text, w text)
returns table (verdict text, lease uuid, length int, sum bytea, tries int, place jsonb, crashed boolean, holder text)
language plpgsql security definer as $$
#variable_conflict use_column
declare
    r holdfast.session;
    token uuid := gen_random_uuid();
    died boolean;
begin
    select * into r from holdfast.session as session where session.id = s for update;
    if not found then
        return query select 'unknown', null::uuid, 0, ''::bytea, 0, '{}'::jsonb, false, '';
        return;
    end if;
    if not holdfast.is_alive(w) then
        return query select 'dead', null::uuid, 0, ''::bytea, 0, '{}'::jsonb, false, w;
        return;
    end if;
    if r.moved <> '' or r.held <> '' then
        return query select 'held', null::uuid, r.length, r.sum, r.tries, r.place, false, r.moved || r.held;
        return;
    end if;
    if r.holder is not null and r.holder <> w and holdfast.is_alive(r.holder) then
        return query select 'busy', null::uuid, r.length, r.sum, r.tries, r.place, false, r.holder;
        return;
    end if;
    if r.place ->> 'host' <> (select about ->> 'host' from holdfast.worker where id = w) then
        return query select 'elsewhere', null::uuid, r.length, r.sum, r.tries, r.place, false, r.place ->> 'host';
        return;
    end if;
    died := r.holder is not null and r.holder <> w;
    update holdfast.session as session
    set lease = token, epoch = r.epoch + 1, holder = w,
        tries = r.tries + (died and coalesce((r.face ->> 'open')::boolean, false))::int
    where session.id = s;
    return query
    select 'taken', token, r.length, r.sum, r.tries + (died and coalesce((r.face ->> 'open')::boolean, false))::int,
        r.place, died, coalesce(r.holder, '');
end $$;

-- Append, if the lease is the caller's and the journal ends where the caller thinks. Returns 'ok', 'lost' or 'conflict'.
create function holdfast.append(
    s text, token uuid, expected int, link bytea, ats float8[], kinds text[], bodies bytea[], sums bytea[],
    taken bigint[], places int[], face jsonb, finished boolean
) returns text language plpgsql security definer as $$
declare
    count int := cardinality(kinds);
begin
    update holdfast.session as session
    set length = expected + count, sum = sums[count], face = append.face, changed = clock_timestamp(),
        tries = case when finished then 0 else tries end
    where session.id = s and lease = token and session.length = expected and session.sum = link;
    if not found then
        perform from holdfast.session as session where session.id = s and lease = token;
        return case when found then 'conflict' else 'lost' end;
    end if;
    insert into holdfast.entry (session, seq, at, kind, body, sum)
    select s, expected + row.place, row.at, row.kind, row.body, row.sum
    from unnest(ats, kinds, bodies, sums) with ordinality as row (at, kind, body, sum, place);
    if cardinality(taken) > 0 then
        update holdfast.inbox as inbox set seq = expected + row.place, done = clock_timestamp()
        from unnest(taken, places) as row (id, place)
        where inbox.id = row.id and inbox.session = s and inbox.done is null;
    end if;
    return 'ok';
end $$;

-- Whether the entry `place` has this sum: waits for a transaction that may still be committing it.
create function holdfast.is_written(s text, place int, link bytea) returns boolean language plpgsql security definer as $$
begin
    perform from holdfast.session as session where session.id = s for update;
    return exists (select from holdfast.entry as entry where session = s and seq = place and sum = link);
end $$;

-- Mark rows that became no entry as done. `why` says why nothing was done, '' if it was.
create function holdfast.close_rows(s text, token uuid, rows bigint[], why text) returns boolean
language plpgsql security definer as $$
begin
    perform from holdfast.session as session where session.id = s and lease = token for update;
    if not found then
        return false;
    end if;
    update holdfast.inbox set done = clock_timestamp(), refused = why
    where id = any (rows) and session = s and done is null;
    return true;
end $$;

-- Note the place of a session whose lease the caller has.
create function holdfast.put_place(s text, token uuid, new_place jsonb) returns boolean
language plpgsql security definer as $$
begin
    update holdfast.session set place = new_place where id = s and lease = token;
    return found;
end $$;

-- Give the lease back: 'given', 'more' if something waits (a prompt does not, while the turn is parked), or 'lost'.
create function holdfast.give(s text, token uuid, new_place jsonb, parked boolean, why_held text, again boolean)
returns text language plpgsql security definer as $$
begin
    perform from holdfast.session as session where session.id = s and lease = token for update;
    if not found then
        return 'lost';
    end if;
    if why_held = '' and not again and exists (
        select from holdfast.inbox as inbox
        where inbox.session = s and done is null and not (parked and kind = 'prompt')
    ) then
        return 'more';
    end if;
    update holdfast.session
    set holder = null, lease = null, place = coalesce(new_place, place), held = why_held,
        wake = case when again then coalesce(wake, clock_timestamp()) else null end
    where id = s;
    return 'given';
end $$;

-- Put an enqueue of a look next to the row that asks for it. Only an edge: without it, the next sweep finds the session.
create function holdfast.enqueue(s text, host text) returns void language plpgsql security definer as $$
begin
    perform dbos.enqueue_workflow(
        workflow_name => 'look', queue_name => 'sessions' || coalesce('@' || host, ''),
        positional_args => array[to_json(s)], queue_partition_key => s, application_name => 'holdfast'
    );
exception when invalid_schema_name or undefined_function or undefined_table or insufficient_privilege then
    return;
end $$;

-- Ask something of a session. The same key returns the row that is there.
create function holdfast.ask(s text, what text, content jsonb, once text, who text)
returns table (id bigint, at timestamptz, seq int, done timestamptz, refused text, kind text, body jsonb, sender text, fresh boolean)
language plpgsql security definer as $$
#variable_conflict use_column
declare
    r holdfast.session;
    row_id bigint;
begin
    select * into r from holdfast.session as session where session.id = s for update;
    if not found then
        return;
    end if;
    insert into holdfast.inbox as inbox (session, kind, body, key, sender)
    values (s, what, content, coalesce(nullif(once, ''), gen_random_uuid()::text), who)
    on conflict (session, key) do nothing returning inbox.id into row_id;
    if row_id is null then
        return query
        select inbox.id, inbox.at, inbox.seq, inbox.done, inbox.refused, inbox.kind, inbox.body, inbox.sender, false
        from holdfast.inbox as inbox where inbox.session = s and inbox.key = once;
        return;
    end if;
    update holdfast.session as session
    set wake = coalesce(session.wake, clock_timestamp()), held = '',
        tries = case when session.held <> '' then 0 else session.tries end
    where session.id = s;
    if r.holder is null or not holdfast.is_alive(r.holder) then
        perform holdfast.enqueue(s, r.place ->> 'host');
    end if;
    return query
    select inbox.id, inbox.at, inbox.seq, inbox.done, inbox.refused, inbox.kind, inbox.body, inbox.sender, true
    from holdfast.inbox as inbox where inbox.id = row_id;
end $$;

-- The level-triggered look: sessions in which something waits, or whose holder is dead, and that no queue has.
create function holdfast.neglected() returns table (id text, host text) language plpgsql security definer as $$
begin
    return query
    select session.id, session.place ->> 'host' from holdfast.session as session
    where (session.wake is not null or session.holder is not null) and session.held = '' and session.moved = ''
        and (session.holder is null or not holdfast.is_alive(session.holder))
        and not exists (
            select from dbos.workflow_status as queued
            where queued.queue_partition_key = session.id and queued.status = 'ENQUEUED'
                and queued.queue_name = 'sessions' || coalesce('@' || (session.place ->> 'host'), '')
        )
    order by session.wake nulls last limit 1000;
end $$;

-- A new session, or one that is moved here with its length and sum under a lease. False if the id is taken.
create function holdfast.make_session(s text, new_place jsonb, new_face jsonb) returns boolean
language plpgsql security definer as $$
begin
    insert into holdfast.session (id, place, face) values (s, new_place, new_face) on conflict (id) do nothing;
    if found then
        return true;
    end if;
    -- One that was moved away comes back: its journal continues with the entries it had.
    update holdfast.session set moved = '', place = new_place where id = s and moved <> '';
    return found;
end $$;

-- The session now lives elsewhere: nothing takes it any more.
create function holdfast.move_away(s text, token uuid, target text) returns boolean
language plpgsql security definer as $$
begin
    update holdfast.session set moved = target, holder = null, lease = null, wake = null
    where id = s and lease = token;
    return found;
end $$;

-- With a fixed search path, a caller cannot make the functions use objects of another schema.
do $$
declare
    each record;
begin
    for each in select oid::regprocedure as name from pg_proc where pronamespace = 'holdfast'::regnamespace loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', each.name);
    end loop;
end $$;
