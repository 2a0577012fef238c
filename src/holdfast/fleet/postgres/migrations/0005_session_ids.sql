-- An ID becomes a folder's name on a worker and an argument of git: only harmless ones exist.

-- A session of an older version with another ID can no longer be taken or listed. Its entries stay.
update holdfast.session
set moved = 'Its ID is not valid any more (expected letters, digits and hyphens).', holder = null, lease = null, wake = null
where moved = '' and (length(id) > 100 or id collate "C" !~ '^[A-Za-z0-9][A-Za-z0-9-]*$');

alter table holdfast.session add constraint session_id_is_plain
    check (moved <> '' or (length(id) <= 100 and id collate "C" ~ '^[A-Za-z0-9][A-Za-z0-9-]*$'));

-- A new session, or one that is moved here with its length and sum under a lease. False if the id is taken.
create or replace function holdfast.make_session(s text, new_place jsonb, new_face jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if length(s) > 100 or s collate "C" !~ '^[A-Za-z0-9][A-Za-z0-9-]*$' then
        raise exception 'Session ID % is not valid (expected at most 100 letters, digits and hyphens)', quote_literal(left(s, 100))
            using errcode = 'HF002';
    end if;
    insert into holdfast.session (id, place, face) values (s, new_place, new_face) on conflict (id) do nothing;
    if found then
        return true;
    end if;
    -- One that was moved away comes back: its journal continues with the entries it had.
    update holdfast.session set moved = '', place = new_place where id = s and moved <> '';
    return found;
end $$;
