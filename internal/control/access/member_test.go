package access_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// person creates a user with a role, or none for "".
func (w *world) person(name string, role penstock.Role) penstock.Member {
	w.T.Helper()
	m, err := w.Members.Create(
		w.T.Context(), w.Admin, penstock.MemberUser, access.MemberRequest{DisplayName: name, Role: role},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// keyOf creates a key of a member with all that the role allows.
func (w *world) keyOf(m penstock.Member, role penstock.Role) penstock.Key {
	w.T.Helper()
	return w.CreateKey(w.Admin, access.KeyRequest{Name: "key of " + m.DisplayName, Role: role, OwnerUID: m.UID})
}

// caller is who a key belongs to now.
func (w *world) caller(k penstock.Key) penstock.Principal {
	w.T.Helper()
	p, err := w.Keys.Authenticate(w.T.Context(), k.Key)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// start creates a run as a caller.
func (w *world) start(p penstock.Principal, req penstock.RunRequest) penstock.Run {
	w.T.Helper()
	made, err := w.Runs.Create(w.T.Context(), p, req, run.SourceAPI)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Get(made.ID)
}

func (w *world) disable(m penstock.Member, disabled bool) {
	w.T.Helper()
	_, err := w.Members.Update(
		w.T.Context(), w.Admin, m.Type, m.UID, access.MemberChange{Disabled: &disabled},
	)
	if err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) refused(k penstock.Key) {
	w.T.Helper()
	if _, err := w.Keys.Authenticate(w.T.Context(), k.Key); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
		w.T.Errorf("key %s: got %v, want that it is refused", k.Name, err)
	}
}

// What somebody does with a key has the name of its owner.
func TestWhoActsIsTheOwnerOfTheKey(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ada := w.person("Ada", penstock.UserRole)
		p := w.caller(w.keyOf(ada, penstock.UserRole))
		started := w.start(p, penstock.RunRequest{Prompt: "x"})
		if started.Creator == nil || started.Creator.UID != ada.UID || started.Creator.DisplayName != "Ada" {
			w.T.Errorf("the creator is %+v", started.Creator)
		}
		if _, err := w.Runs.Cancel(w.T.Context(), p, started.ID, false); err != nil {
			w.T.Fatal(err)
		}
		if got := w.Get(started.ID).StatusMessage; got == nil || got.Message != "Cancelled by Ada." {
			w.T.Errorf("the cancelled run says %+v", got)
		}
	})
}

// A personal run is for its creator, and not for everybody who has a key.
func TestPersonalRunIsForOnePerson(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ada := w.caller(w.keyOf(w.person("Ada", penstock.UserRole), penstock.UserRole))
		bo := w.caller(w.keyOf(w.person("Bo", penstock.EditorRole), penstock.EditorRole))
		personal := false
		mine := w.start(ada, penstock.RunRequest{Prompt: "x", Team: &personal})
		if _, err := w.Runs.Read(w.T.Context(), ada, mine.ID); err != nil {
			w.T.Error(err)
		}
		_, err := w.Runs.Read(w.T.Context(), bo, mine.ID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "")
	})
}

// A key may do what both its scopes and the roles of its owner allow, at the time of the request: neither a wider key
// nor a later role adds anything that the other does not have.
func TestKeyMayDoAtMostWhatItsOwnerMay(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ada := w.person("Ada", penstock.EditorRole)
		editor := w.keyOf(ada, penstock.EditorRole)
		reader := w.CreateKey(w.Admin, access.KeyRequest{
			Name: "reader", Scopes: []penstock.Scope{penstock.ScopeRunsRead}, OwnerUID: ada.UID,
		})
		p := w.caller(editor)
		if want := sorted(penstock.EditorRole.Scopes()); !slices.Equal(p.Scopes, want) || p.Withheld != nil {
			w.T.Errorf("an editor has %v and lacks %v, want %v", p.Scopes, p.Withheld, want)
		}
		w.changeRole(ada, penstock.EditorRole, penstock.ViewerRole)
		p = w.caller(editor)
		if want := sorted(penstock.ViewerRole.Scopes()); !slices.Equal(p.Scopes, want) {
			w.T.Errorf("after a change of role, the key has %v, want %v", p.Scopes, want)
		}
		err := access.Require(p, penstock.ScopeRunsWrite)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "its owner has not: Ada has only the role viewer")
		err = access.Require(w.caller(reader), penstock.ScopeRunsWrite)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "lacks the scope runs:write")

		w.changeRole(ada, penstock.ViewerRole, penstock.AdminRole)
		if p := w.caller(reader); !slices.Equal(p.Scopes, []penstock.Scope{penstock.ScopeRunsRead}) {
			w.T.Errorf("the reading key of an admin may do %v", p.Scopes)
		}
		boss := w.keyOf(ada, penstock.AdminRole)
		w.changeRole(ada, penstock.AdminRole, penstock.UserRole)
		p = w.caller(boss)
		if p.May(penstock.ScopeKeysManage) || !p.May(penstock.ScopeRunsWrite) {
			w.T.Errorf("the admin key of a user may do %v", p.Scopes)
		}
		w.changeRole(ada, penstock.UserRole, "")
		if p := w.caller(boss); len(p.Scopes) != 0 {
			w.T.Errorf("without a role, the key may do %v", p.Scopes)
		}
	})
}

// changeRole takes a role from a member, and gives it another one.
func (w *world) changeRole(m penstock.Member, from, to penstock.Role) {
	w.T.Helper()
	if to != "" {
		_, err := w.Members.Grant(w.T.Context(), w.Admin, access.GrantRequest{
			SubjectType: penstock.GrantSubject(m.Type), Subject: m.UID, Role: to,
		})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	all, err := w.Members.Grants(w.T.Context(), w.Admin)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, g := range all {
		if g.Subject == m.UID && g.Role == from {
			if err := w.Members.Revoke(w.T.Context(), w.Admin, g.UID); err != nil {
				w.T.Fatal(err)
			}
		}
	}
}

func sorted(scopes []penstock.Scope) []penstock.Scope {
	slices.Sort(scopes)
	return scopes
}

// A disabled user is refused with the next request, by keys and by sessions, whatever made them; and again let in by
// the keys alone.
func TestDisabledUserIsRefusedWithTheNextRequest(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		ada := w.person("Ada", penstock.EditorRole)
		key := w.keyOf(ada, penstock.EditorRole)
		p := w.caller(key)
		managing := p
		managing.Scopes = append(managing.Scopes, penstock.ScopeKeysManage)
		second := w.CreateKey(managing, access.KeyRequest{Name: "made by the first", Role: penstock.ViewerRole})
		cookie, session, err := w.Sessions.SignIn(ctx, p)
		if err != nil {
			w.T.Fatal(err)
		}
		proof := access.SessionProof{Cookie: cookie, Secret: session.Secret}
		if _, _, err := w.Sessions.Resume(ctx, proof); err != nil {
			w.T.Fatal(err)
		}
		w.disable(ada, true)
		w.refused(key)
		w.refused(second)
		_, _, err = w.Sessions.Resume(ctx, proof)
		testworld.WantCode(w.T, err, penstock.CodeAuthenticationRequired, "")
		if _, err := w.Keys.Assign(ctx, w.Admin, second.UID, access.KeyChange{OwnerUID: ada.UID}); err == nil {
			w.T.Error("a disabled user was given a key")
		}
		_, err = w.Runs.Create(ctx, w.Admin, penstock.RunRequest{Prompt: "x", OnBehalfOf: ada.UID}, run.SourceAPI)
		testworld.WantField(w.T, err, "/on_behalf_of")

		w.disable(ada, false)
		w.caller(key)
		_, _, err = w.Sessions.Resume(ctx, proof)
		testworld.WantCode(w.T, err, penstock.CodeAuthenticationRequired, "")
	})
}

// A request of a disabled user does not count as a use of the key.
func TestRefusedKeyIsNotUsed(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ada := w.person("Ada", penstock.UserRole)
		key := w.keyOf(ada, penstock.UserRole)
		w.disable(ada, true)
		w.refused(key)
		if err := w.Keys.Touch(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		keys, err := w.Keys.List(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, k := range keys {
			if k.UID == key.UID && k.LastUsedAt != 0 {
				w.T.Errorf("the refused key was used at %s", k.LastUsedAt)
			}
		}
	})
}

// The schedules of somebody who is disabled are paused, say why, and fire neither when an admin resumes them nor when
// a request on its way has created one.
func TestSchedulesOfADisabledUserArePaused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		ada := w.person("Ada", penstock.UserRole)
		p := w.caller(w.keyOf(ada, penstock.UserRole))
		nightly := factory.ScheduleRequest{Name: "nightly", Cron: "@daily", Prompt: "look"}
		hers, err := w.Schedules.Create(ctx, p, nightly)
		if err != nil {
			w.T.Fatal(err)
		}
		others := w.CreateSchedule(nightly)
		w.disable(ada, true)
		got, err := w.Schedules.Read(ctx, w.Admin, hers.ID)
		if err != nil || got.Enabled || got.LastSpawnError == nil || !strings.Contains(*got.LastSpawnError, "disabled") {
			w.T.Errorf("the schedule of a disabled user is %+v, %v", got, err)
		}
		if got, err := w.Schedules.Read(ctx, w.Admin, others.ID); err != nil || !got.Enabled {
			w.T.Errorf("the schedule of somebody else is %+v, %v", got, err)
		}
		_, err = w.Schedules.Resume(ctx, w.Admin, hers.ID)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "disabled")

		late, err := w.Schedules.Create(ctx, p, factory.ScheduleRequest{Name: "late", Cron: "* * * * *", Prompt: "look"})
		if err != nil {
			w.T.Fatal(err)
		}
		if err := w.Schedules.FireDue(ctx, penstock.Now().Add(61*time.Second)); err != nil {
			w.T.Fatal(err)
		}
		got, err = w.Schedules.Read(ctx, w.Admin, late.ID)
		if err != nil || got.LastSpawnError == nil || !strings.Contains(*got.LastSpawnError, "disabled") {
			w.T.Errorf("a schedule that was on its way is %+v, %v", got, err)
		}
		runs, err := w.Runs.List(ctx, w.Admin, penstock.RunQuery{})
		if err != nil || len(runs.Runs) != 0 {
			w.T.Errorf("started %d runs, %v", len(runs.Runs), err)
		}
		w.disable(ada, false)
		if _, err := w.Schedules.Resume(ctx, w.Admin, hers.ID); err != nil {
			w.T.Error(err)
		}
	})
}

// A deleted user has no keys and no roles, and what she did keeps her name.
func TestDeletedUserLeavesOnlyAName(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		ada, err := w.Members.Create(ctx, w.Admin, penstock.MemberUser, access.MemberRequest{
			DisplayName: "Ada", Role: penstock.UserRole, Issuer: "https://id.example.com", Subject: "a-1",
		})
		if err != nil {
			w.T.Fatal(err)
		}
		key := w.keyOf(ada, penstock.UserRole)
		started := w.start(w.caller(key), penstock.RunRequest{Prompt: "x"})
		if err := w.Members.Delete(ctx, w.Admin, penstock.MemberUser, ada.UID); err != nil {
			w.T.Fatal(err)
		}
		w.refused(key)
		if got := w.Get(started.ID).Creator; got == nil || got.DisplayName != "Ada" {
			w.T.Errorf("the run of a deleted user was created by %+v", got)
		}
		_, err = w.Members.Read(ctx, w.Admin, penstock.MemberUser, ada.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "")
		all, err := w.Members.Grants(ctx, w.Admin)
		if err != nil || slices.ContainsFunc(all, func(g penstock.Grant) bool { return g.Subject == ada.UID }) {
			w.T.Errorf("after the deletion, the grants are %+v, %v", all, err)
		}
		again, err := w.Members.Create(ctx, w.Admin, penstock.MemberUser, access.MemberRequest{
			DisplayName: "Ada", Issuer: "https://id.example.com", Subject: "a-1",
		})
		if err != nil || again.UID == ada.UID {
			w.T.Errorf("the same person again: %+v, %v", again, err)
		}
	})
}

// Nobody gets more than they have by way of accounts, grants and keys.
func TestNobodyGrantsWhatTheyLack(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		admin, user := w.person("Ada", penstock.AdminRole), w.person("Bo", penstock.UserRole)
		boss := w.keyOf(admin, penstock.AdminRole)
		ownRole := penstock.GrantSubject(penstock.MemberUser)
		for name, scopes := range map[string][]penstock.Scope{
			"manages keys":   {penstock.ScopeKeysManage, penstock.ScopeRunsWrite},
			"manages access": {penstock.ScopeKeysManage, penstock.ScopeAccessManage, penstock.ScopeRunsRead},
		} {
			p := w.CreateKeyFor(name, scopes...)
			for what, err := range map[string]error{
				"a key of the role admin": second(w.Keys.Create(ctx, p, access.KeyRequest{Name: "x", Role: penstock.AdminRole})),
				"a key of an admin": second(w.Keys.Create(ctx, p, access.KeyRequest{
					Name: "x", Scopes: scopes[:1], OwnerUID: admin.UID,
				})),
				"the key of an admin for another": second(w.Keys.Assign(ctx, p, boss.UID, access.KeyChange{OwnerUID: user.UID})),
				"a grant of admin": second(w.Members.Grant(ctx, p, access.GrantRequest{
					SubjectType: ownRole, Subject: user.UID, Role: penstock.AdminRole,
				})),
				"a new admin": second(w.Members.Create(ctx, p, penstock.MemberUser, access.MemberRequest{
					DisplayName: "x", Role: penstock.AdminRole,
				})),
				"an admin disabled": second(w.Members.Update(
					ctx, p, penstock.MemberUser, admin.UID, access.MemberChange{Disabled: new(true)},
				)),
				"an admin deleted": w.Members.Delete(ctx, p, penstock.MemberUser, admin.UID),
			} {
				if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					w.T.Errorf("somebody who %s gets %s: %v", name, what, err)
				}
			}
		}
		all, err := w.Members.Grants(ctx, w.Admin)
		if err != nil || len(all) != 3 {
			w.T.Errorf("there are %d grants, %v, want three", len(all), err)
		}
		agent := w.Admin
		agent.AgentUID = "a"
		_, err = w.Members.Grant(ctx, agent, access.GrantRequest{SubjectType: ownRole, Subject: user.UID, Role: "editor"})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "agent")
	})
}

// Somebody who manages access and keys, but is no admin, can neither take a key of an admin away nor a grant.
func TestNobodyTakesAKeyOfSomebodyWithMoreRights(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		p := w.CreateKeyFor("manager", penstock.ScopeKeysManage, penstock.ScopeAccessManage, penstock.ScopeRunsRead)
		admin, viewer := w.person("Ada", penstock.AdminRole), w.person("Bo", penstock.ViewerRole)
		narrow := w.keyOf(admin, penstock.ViewerRole)
		p.Scopes = append(p.Scopes, penstock.ScopeFactoriesRead)
		to := access.KeyChange{OwnerUID: viewer.UID}
		_, err := w.Keys.Assign(ctx, p, narrow.UID, to)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "role admin")

		wide := w.CreateKey(w.Admin, access.KeyRequest{
			Name: "wide", Scopes: []penstock.Scope{penstock.ScopeWorker, penstock.ScopeRunsRead}, OwnerUID: w.service("ops").UID,
		})
		_, err = w.Keys.Assign(ctx, p, wide.UID, to)
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "scope worker")

		all, err := w.Members.Grants(ctx, w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, g := range all {
			if g.Subject == admin.UID {
				testworld.WantCode(w.T, w.Members.Revoke(ctx, p, g.UID), penstock.CodeNotAuthorized, "role admin")
			}
			if g.Subject == viewer.UID {
				if err := w.Members.Revoke(ctx, p, g.UID); err != nil {
					w.T.Errorf("a grant within the caller's rights: %v", err)
				}
			}
		}
	})
}

// Who manages keys alone acts as nobody else, not even as somebody with less rights.
func TestOnlyWhoManagesAccessOwnsKeysForOthers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		viewer := w.person("Bo", penstock.ViewerRole)
		p := w.CreateKeyFor("keys", penstock.ScopeKeysManage, penstock.ScopeRunsRead, penstock.ScopeFactoriesRead)
		_, err := w.Keys.Create(ctx, p, access.KeyRequest{Name: "x", Role: penstock.ViewerRole, OwnerUID: viewer.UID})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "access:manage")
		own := w.CreateKey(p, access.KeyRequest{Name: "own", Role: penstock.ViewerRole})
		_, err = w.Keys.Assign(ctx, p, own.UID, access.KeyChange{OwnerUID: viewer.UID})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "access:manage")
	})
}

// service creates a service account with the role viewer.
func (w *world) service(name string) penstock.Member {
	w.T.Helper()
	m, err := w.Members.Create(
		w.T.Context(), w.Admin, penstock.MemberServiceAccount,
		access.MemberRequest{DisplayName: name, Role: penstock.ViewerRole},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

func second[T any](_ T, err error) error { return err }

// Two admins who take the role from each other at once leave one of them.
func TestOneAdminIsLeft(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		admins := []penstock.Member{w.person("Ada", penstock.AdminRole), w.person("Bo", penstock.AdminRole)}
		callers := []penstock.Principal{
			w.caller(w.keyOf(admins[0], penstock.AdminRole)), w.caller(w.keyOf(admins[1], penstock.AdminRole)),
		}
		if err := w.Keys.Revoke(ctx, callers[0], w.Admin.KeyUID); err != nil {
			w.T.Fatal(err)
		}
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i := range admins {
			all.Go(func() {
				_, errs[i] = w.Members.Update(
					ctx, callers[i], penstock.MemberUser, admins[1-i].UID, access.MemberChange{Disabled: new(true)},
				)
			})
		}
		all.Wait()
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
				testworld.WantCode(w.T, err, penstock.CodeConflict, "without an admin")
			}
		}
		if refused != 1 {
			w.T.Errorf("%d of two were refused: %v", refused, errs)
		}
		for i := range admins {
			if errs[i] == nil { // the other one is disabled
				err := w.Members.Delete(ctx, callers[i], penstock.MemberUser, admins[i].UID)
				testworld.WantCode(w.T, err, penstock.CodeConflict, "without an admin")
			}
		}
	})
}

// The key of an agent, which manages no members, is no admin's.
func TestAgentIsNotTheAdminWhoIsLeft(t *testing.T) {
	worlds(t, nil, func(w *world) {
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("boss")})
		w.CreateKey(w.Admin, access.KeyRequest{Name: "boss", Role: penstock.AdminRole, AgentUID: agent.UID})
		err := w.Keys.Revoke(w.T.Context(), w.Admin, w.Admin.KeyUID)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "without an admin")
	})
}

// A key that is revoked while the other admin is disabled: one of both is refused, whichever comes first.
func TestOneAdminIsLeftByKeysAndUsers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for round := range 8 {
			ada, bo := w.person("Ada", penstock.AdminRole), w.person("Bo", penstock.AdminRole)
			hers, his := w.keyOf(ada, penstock.AdminRole), w.keyOf(bo, penstock.AdminRole)
			first, second := w.caller(hers), w.caller(his)
			if err := w.Keys.Revoke(ctx, first, w.Admin.KeyUID); err != nil {
				w.T.Fatal(err)
			}
			var all sync.WaitGroup
			var revoked, disabled error
			all.Go(func() { revoked = w.Keys.Revoke(ctx, second, hers.UID) })
			all.Go(func() {
				_, disabled = w.Members.Update(
					ctx, first, penstock.MemberUser, bo.UID, access.MemberChange{Disabled: new(true)},
				)
			})
			all.Wait()
			if (revoked == nil) == (disabled == nil) {
				w.T.Fatalf("round %d: revoked %v, disabled %v", round, revoked, disabled)
			}
			testworld.WantCode(w.T, errors.Join(revoked, disabled), penstock.CodeConflict, "without an admin")
			if w.Admin = first; revoked == nil {
				w.Admin = second
			}
		}
	})
}

// Bad input names its field, and leaves nothing behind.
func TestBadMembersAndGrants(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for pointer, req := range map[string]access.MemberRequest{
			"/display_name": {Email: "ada@example.com"},
			"/email":        {DisplayName: "x", Email: "Ada <ada@example.com>"},
			"/subject":      {DisplayName: "x", Issuer: "https://id.example.com"},
			"/issuer":       {DisplayName: "x", Issuer: "id.example.com", Subject: "1"},
			"/role":         {DisplayName: "x", Role: "owner"},
		} {
			_, err := w.Members.Create(ctx, w.Admin, penstock.MemberUser, req)
			testworld.WantField(w.T, err, pointer)
		}
		_, err := w.Members.Create(ctx, w.Admin, penstock.MemberServiceAccount, access.MemberRequest{
			DisplayName: "x", Issuer: "https://id.example.com", Subject: "1",
		})
		testworld.WantField(w.T, err, "/issuer")
		for pointer, req := range map[string]access.GrantRequest{
			"/subject_type": {SubjectType: "team", Subject: "x", Role: "user"},
			"/subject":      {SubjectType: "user", Subject: "nobody", Role: "user"},
			"/role":         {SubjectType: "group", Subject: "x", Role: "root"},
		} {
			_, err := w.Members.Grant(ctx, w.Admin, req)
			testworld.WantField(w.T, err, pointer)
		}
		viewer := w.person("Ada", penstock.ViewerRole)
		_, err = w.Keys.Create(ctx, w.Admin, access.KeyRequest{Name: "x", Role: penstock.UserRole, OwnerUID: viewer.UID})
		testworld.WantField(w.T, err, "/scopes")
		_, err = w.Keys.Create(ctx, w.Admin, access.KeyRequest{Name: "x", Role: "user", Scopes: []penstock.Scope{"admin"}})
		testworld.WantField(w.T, err, "/role")
		grant := access.GrantRequest{SubjectType: penstock.GrantToUser, Subject: viewer.UID, Role: penstock.ViewerRole}
		_, err = w.Members.Grant(ctx, w.Admin, grant)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "already")
		people, err := w.Members.List(ctx, w.Admin, penstock.MemberUser)
		if err != nil || len(people) != 2 {
			w.T.Errorf("there are %d users, %v, want the admin and Ada", len(people), err)
		}
	})
}

// A person's groups give roles, and a group of another name gives none.
func TestGroupsGiveRoles(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		ada := w.person("Ada", penstock.ViewerRole)
		key := w.keyOf(ada, penstock.ViewerRole)
		wide := w.CreateKey(w.Admin, access.KeyRequest{Name: "admin", Role: penstock.AdminRole})
		if _, err := w.Keys.Assign(ctx, w.Admin, wide.UID, access.KeyChange{OwnerUID: ada.UID}); err != nil {
			w.T.Fatal(err)
		}
		for group, role := range map[string]penstock.Role{"platform": penstock.EditorRole, "plat": penstock.AdminRole} {
			_, err := w.Members.Grant(ctx, w.Admin, access.GrantRequest{SubjectType: "group", Subject: group, Role: role})
			if err != nil {
				w.T.Fatal(err)
			}
		}
		w.Write(func(tx *store.Tx) error {
			return tx.Members().SetGroups(ctx, ada.UID, []string{"platform", "it's, odd", "a%"})
		})
		m, err := w.Members.Read(ctx, w.Admin, penstock.MemberUser, ada.UID)
		if err != nil {
			w.T.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a%", "it's, odd", "platform"}, m.Groups); diff != "" {
			w.T.Errorf("groups (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]penstock.Role{penstock.ViewerRole, penstock.EditorRole}, m.Roles); diff != "" {
			w.T.Errorf("roles (-want +got):\n%s", diff)
		}
		if p := w.caller(key); p.May(penstock.ScopeFactoriesManage) || !p.May(penstock.ScopeRunsRead) {
			w.T.Errorf("the key of a viewer may do %v", p.Scopes)
		}
		if p := w.caller(wide); !p.May(penstock.ScopeFactoriesManage) || p.May(penstock.ScopeAdmin) {
			w.T.Errorf("the wide key of an editor by group may do %v", p.Scopes)
		}
	})
}
