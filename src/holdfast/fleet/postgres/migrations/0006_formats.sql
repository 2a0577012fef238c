-- The journal format of each session: the append that brings the first entry of a newer format raises it, and a worker
-- that does not know it is refused. A worker of before this step knows format 1 and continues its sessions.

alter table holdfast.session add column format int not null default 1;

alter function holdfast.take(text, text) rename to take_any_format;
drop function holdfast.append(
    text, uuid, int, bytea, float8[], text[], bytea[], bytea[], bigint[], int[], jsonb, boolean
);

-- What is said of a session whose format is above the highest that a caller knows, '' of any other.
create function holdfast.newer_format(s text, known int) returns text language sql security definer as $$
    select coalesce((
        select format(
            'Session %s cannot be used: it was written by a newer holdfast (format %s, expected at most %s). '
                'Nothing was changed. Upgrade holdfast here.', s, session.format, known
        ) from holdfast.session as session where session.id = s and session.format > known
    ), '')
$$;

-- As before this step, for a worker that knows formats up to `known`; others get the verdict 'newer'.
create function holdfast.take(s text, w text, known int)
returns table (verdict text, lease uuid, length int, sum bytea, tries int, place jsonb, crashed boolean, holder text)
language plpgsql security definer as $$
begin
    perform from holdfast.session as session where session.id = s for update;
    if holdfast.newer_format(s, known) <> '' then
        return query
        select 'newer', null::uuid, 0, ''::bytea, 0, '{}'::jsonb, false, holdfast.newer_format(s, known);
        return;
    end if;
    return query select * from holdfast.take_any_format(s, w);
end $$;

create function holdfast.take(s text, w text)
returns table (verdict text, lease uuid, length int, sum bytea, tries int, place jsonb, crashed boolean, holder text)
language sql security definer as $$
    select case taken.verdict when 'newer' then 'held' else taken.verdict end, taken.lease, taken.length, taken.sum,
        taken.tries, taken.place, taken.crashed, taken.holder
    from holdfast.take(s, w, 1) as taken
$$;

-- Append, if the lease is the caller's and the journal ends where the caller thinks. Returns 'ok', 'lost' or 'conflict'.
-- The session has the format `known` from then on; one with a higher format is refused.
create function holdfast.append(
    s text, token uuid, expected int, link bytea, ats float8[], kinds text[], bodies bytea[], sums bytea[],
    taken bigint[], places int[], face jsonb, finished boolean, known int
) returns text language plpgsql security definer as $$
declare
    count int := cardinality(kinds);
begin
    update holdfast.session as session
    set length = expected + count, sum = sums[count], face = append.face, changed = clock_timestamp(), format = known,
        tries = case when finished then 0 else tries end
    where session.id = s and lease = token and session.length = expected and session.sum = link
        and session.format <= known;
    if not found then
        perform from holdfast.session as session where session.id = s and lease = token;
        if found and holdfast.newer_format(s, known) <> '' then
            raise exception '%', holdfast.newer_format(s, known) using errcode = 'HF002';
        end if;
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

create function holdfast.append(
    s text, token uuid, expected int, link bytea, ats float8[], kinds text[], bodies bytea[], sums bytea[],
    taken bigint[], places int[], face jsonb, finished boolean
) returns text language sql security definer as $$
    select holdfast.append(s, token, expected, link, ats, kinds, bodies, sums, taken, places, face, finished, 1)
$$;

do $$
declare
    each record;
begin
    for each in
        select oid::regprocedure as name, proname from pg_proc
        where pronamespace = 'holdfast'::regnamespace
            and proname in ('take', 'append', 'newer_format', 'take_any_format')
    loop
        execute format('alter function %s set search_path = pg_catalog, pg_temp', each.name);
        execute format('revoke all on function %s from public', each.name);
        if exists (select from pg_roles where rolname = 'holdfast_worker') then
            execute format('revoke all on function %s from holdfast_worker', each.name);
            if each.proname in ('take', 'append', 'newer_format') then
                execute format('grant execute on function %s to holdfast_worker', each.name);
            end if;
        end if;
        if exists (select from pg_roles where rolname = 'holdfast_service') and each.proname = 'newer_format' then
            execute format('grant execute on function %s to holdfast_service', each.name);
        end if;
    end loop;
end $$;
