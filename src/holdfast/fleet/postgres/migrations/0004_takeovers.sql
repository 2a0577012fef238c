-- Sessions whose worker died do not wait behind those that have none yet: a queue of their own.

drop function holdfast.neglected();

-- The level-triggered look: sessions in which something waits, or whose holder is dead, and that no queue has.
create function holdfast.neglected() returns table (id text, host text, orphan boolean)
language plpgsql security definer as $$
begin
    return query
    select session.id, session.place ->> 'host', session.holder is not null from holdfast.session as session
    where (session.wake is not null or session.holder is not null) and session.held = '' and session.moved = ''
        and (session.holder is null or not holdfast.is_alive(session.holder))
        and not exists (
            select from dbos.workflow_status as queued
            where queued.queue_partition_key = session.id and queued.status = 'ENQUEUED'
                and queued.queue_name = case when session.holder is null then 'sessions' else 'takeovers' end
                    || coalesce('@' || (session.place ->> 'host'), '')
        )
    order by session.holder is null, session.wake nulls last limit 1000;
end $$;

-- Have a session looked at whose worker died.
create function holdfast.enqueue_takeover(s text, host text) returns void language plpgsql security definer as $$
begin
    perform dbos.enqueue_workflow(
        workflow_name => 'takeover', queue_name => 'takeovers' || coalesce('@' || host, ''),
        positional_args => array[to_json(s)], queue_partition_key => s, application_name => 'holdfast'
    );
exception when invalid_schema_name or undefined_function or undefined_table or insufficient_privilege then
    return;
end $$;

alter function holdfast.neglected set search_path = pg_catalog, pg_temp;
alter function holdfast.enqueue_takeover set search_path = pg_catalog, pg_temp;
revoke all on function holdfast.neglected, holdfast.enqueue_takeover from public;

do $$
begin
    if exists (select from pg_roles where rolname = 'holdfast_worker') then
        grant execute on function holdfast.neglected, holdfast.enqueue_takeover to holdfast_worker;
    end if;
end $$;
