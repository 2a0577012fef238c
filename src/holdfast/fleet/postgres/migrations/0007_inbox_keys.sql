-- A key belongs to one sender and one kind: the stop of one caller is never taken for the prompt of another.

alter table holdfast.inbox drop constraint inbox_session_key_key;
alter table holdfast.inbox add constraint inbox_key unique (sender, kind, session, key);

create or replace function holdfast.ask(s text, what text, content jsonb, once text, who text)
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
    on conflict (sender, kind, session, key) do nothing returning inbox.id into row_id;
    if row_id is null then
        return query
        select inbox.id, inbox.at, inbox.seq, inbox.done, inbox.refused, inbox.kind, inbox.body, inbox.sender, false
        from holdfast.inbox as inbox
        where inbox.sender = who and inbox.kind = what and inbox.session = s and inbox.key = once;
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
