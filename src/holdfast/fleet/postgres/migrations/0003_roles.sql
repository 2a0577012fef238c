-- Two roles: a service asks and reads, a worker also appends. Neither has a right to change a table.
do $$
begin
    if not exists (select from pg_roles where rolname = 'holdfast_service') then
        create role holdfast_service nologin;
    end if;
    if not exists (select from pg_roles where rolname = 'holdfast_worker') then
        create role holdfast_worker nologin;
    end if;
exception
    when duplicate_object or unique_violation then null;
    when insufficient_privilege then
        raise notice 'The roles holdfast_service and holdfast_worker were not made: the user may not create roles.';
        return;
end $$;

do $$
begin
    if not exists (select from pg_roles where rolname = 'holdfast_worker') then
        return;
    end if;
    revoke all on all functions in schema holdfast from public;
    grant usage on schema holdfast to holdfast_service, holdfast_worker;
    grant select on all tables in schema holdfast to holdfast_service, holdfast_worker;
    grant execute on function holdfast.is_alive, holdfast.ask, holdfast.make_session to holdfast_service;
    grant execute on all functions in schema holdfast to holdfast_worker;
end $$;
