-- A worker that lives gives back what it holds and does not drive, e.g. after a fault of this server.

-- Give back one session, if this worker has it under this lease. False if another one has it by now.
create function holdfast.let_go(w text, s text, token uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    host text;
begin
    update holdfast.session as session
    set holder = null, lease = null, wake = coalesce(wake, clock_timestamp())
    where id = s and holder = w and lease = token
    returning place ->> 'host' into host;
    if not found then
        return false;
    end if;
    perform holdfast.enqueue(s, host);
    return true;
end $$;

-- Give back all sessions of a worker that has ended by itself: nothing died in them, so nothing is counted.
create function holdfast.let_all_go(w text) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    each record;
    count int := 0;
begin
    for each in
        update holdfast.session as session
        set holder = null, lease = null, wake = coalesce(wake, clock_timestamp())
        where holder = w and not holdfast.is_alive(w)
        returning session.id, session.place ->> 'host' as host
    loop
        perform holdfast.enqueue(each.id, each.host);
        count := count + 1;
    end loop;
    return count;
end $$;

revoke all on function holdfast.let_go, holdfast.let_all_go from public;

do $$
begin
    if exists (select from pg_roles where rolname = 'holdfast_worker') then
        grant execute on function holdfast.let_go, holdfast.let_all_go to holdfast_worker;
    end if;
end $$;
