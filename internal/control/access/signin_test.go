package access_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// signInWorld is a world whose team signs in at a provider.
type signInWorld struct {
	*world
	idp *testkit.IDP
}

// signIns runs a test on each engine. Ada is in the group dev, whose members are editors.
func signIns(t *testing.T, test func(w *signInWorld)) {
	t.Helper()
	var idps sync.Map // by their issuers: each world has its own
	worlds(t, func(d *run.Deps) {
		idp := testkit.NewIDP(t, grace("ada", "dev"))
		p, err := openid.New(openid.Settings{
			Name: "Corp", Issuer: idp.URL, ClientID: idp.ClientID, ClientSecretFile: idp.SecretFile(t),
			Groups: map[string]penstock.Role{"dev": penstock.EditorRole, "ops-*": penstock.AdminRole},
		}, "https://penstock.example/sign-in/callback")
		if err != nil {
			t.Fatal(err)
		}
		idps.Store(idp.URL, idp)
		d.SignIn = []*openid.Provider{p}
	}, func(w *world) {
		idp, _ := idps.Load(w.Deps.SignIn[0].Issuer)
		own, _ := idp.(*testkit.IDP)
		test(&signInWorld{w, own})
	})
}

// grace is a person of the provider.
func grace(sub string, groups ...string) map[string]any {
	if groups == nil {
		groups = []string{} // null would be unknown
	}
	return map[string]any{
		"sub": sub, "name": strings.ToUpper(sub[:1]) + sub[1:], "email": sub + "@example.com", "groups": groups,
	}
}

// begin begins to sign in, and returns what the provider sends the browser back with.
func (w *signInWorld) begin(browser string) (url.Values, string) {
	w.T.Helper()
	start, browser, err := w.Sessions.Begin(
		w.T.Context(), []string{browser}, access.SignInRequest{Provider: "Corp", ReturnTo: "/runs?q=a"},
	)
	if err != nil {
		w.T.Fatal(err)
	}
	return w.idp.Visit(w.T, start.AuthorizationURL), browser
}

// session is a session with what proves it.
type session struct {
	access.Session
	access.SessionProof
}

func (w *signInWorld) complete(back url.Values, browser string) (session, error) {
	cookie, s, err := w.Sessions.Complete(w.T.Context(), []string{browser}, access.SessionRequest{
		State: back.Get("state"), Code: back.Get("code"), Issuer: back.Get("iss"),
	})
	return session{s, access.SessionProof{Cookie: cookie, Secret: s.Secret}}, err
}

func (w *signInWorld) signIn() (session, error) {
	w.T.Helper()
	back, browser := w.begin("")
	return w.complete(back, browser)
}

func (w *signInWorld) mustSignIn() session {
	w.T.Helper()
	s, err := w.signIn()
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// resume returns who a session belongs to now.
func (w *signInWorld) resume(s session) (penstock.Principal, error) {
	p, _, err := w.Sessions.Resume(w.T.Context(), s.SessionProof)
	return p, err
}

func (w *signInWorld) users() []penstock.Member {
	w.T.Helper()
	list, err := w.Members.List(w.T.Context(), w.Admin, penstock.MemberUser)
	if err != nil {
		w.T.Fatal(err)
	}
	return slices.DeleteFunc(list, func(m penstock.Member) bool { return m.Issuer == "" })
}

func TestAPersonSignsInAndIsTheSameUserAgain(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		first := w.mustSignIn()
		p, err := w.resume(first)
		if err != nil {
			w.T.Fatal(err)
		}
		if p.Actor.DisplayName != "Ada" || first.ReturnTo != "/runs?q=a" || first.PrincipalUID != p.Actor.UID ||
			!cmp.Equal(p.Roles, []penstock.Role{penstock.EditorRole}) || p.May(penstock.ScopeKeysManage) {
			w.T.Errorf("the session is %+v, of %+v", first.Session, p)
		}
		made := w.start(p, penstock.RunRequest{Prompt: "x"})
		if made.Creator == nil || made.Creator.UID != p.Actor.UID {
			w.T.Errorf("the run's creator is %+v", made.Creator)
		}
		// A new name and address are the same person; another sub with them is not.
		w.idp.Person(map[string]any{"sub": "ada", "name": "Ada Lovelace", "email": "l@example.com", "groups": "dev"})
		again := w.mustSignIn()
		if again.PrincipalUID != first.PrincipalUID || again.KeyUID != first.KeyUID ||
			again.Actor.DisplayName != "Ada Lovelace" {
			w.T.Errorf("the second session is %+v", again.Session)
		}
		other := grace("other", "dev")
		other["name"], other["email"] = "Ada Lovelace", "l@example.com"
		w.idp.Person(other)
		if s := w.mustSignIn(); s.PrincipalUID == first.PrincipalUID {
			w.T.Error("another person got the same user by name and address")
		}
		if users := w.users(); len(users) != 2 || users[0].SignedInAt == 0 {
			w.T.Errorf("the users are %+v", users)
		}
	})
}

func TestWithoutARoleNobodyComesIn(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		w.idp.Person(grace("eve", "sales", "hr"))
		_, err := w.signIn()
		if penstock.CodeOf(err) != penstock.CodeNotAuthorized || !strings.Contains(err.Error(), "hr, sales") {
			w.T.Errorf("got %v, want the groups", err)
		}
		if users := w.users(); len(users) != 0 {
			w.T.Errorf("users are left behind: %+v", users)
		}
		// A grant to a group lets her in, from the next sign-in on.
		_, err = w.Members.Grant(w.T.Context(), w.Admin, access.GrantRequest{
			SubjectType: penstock.GrantToGroup, Subject: "hr", Role: penstock.ViewerRole,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		reads := []penstock.Scope{penstock.ScopeFactoriesRead, penstock.ScopeRunsRead}
		if s := w.mustSignIn(); !slices.Equal(s.Scopes, reads) {
			w.T.Errorf("the session may %v", s.Scopes)
		}
	})
}

// An attempt counts once, in the browser that began it, and for ten minutes.
func TestAnAttemptToSignInCountsOnce(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		refused := func(what string, err error) {
			w.T.Helper()
			if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
				w.T.Errorf("%s: got %v", what, err)
			}
		}
		back, browser := w.begin("")
		for what, other := range map[string]string{"another browser": strings.Repeat("x", 43), "no cookie": ""} {
			_, err := w.complete(back, other)
			refused(what, err)
		}
		strange := url.Values{"state": {"unknown"}, "code": back["code"], "iss": back["iss"]}
		_, err := w.complete(strange, browser)
		refused("a state that nobody began", err)
		if _, err := w.complete(back, browser); err != nil {
			w.T.Errorf("the browser that began it: %v", err)
		}
		_, err = w.complete(back, browser)
		refused("a second time", err)

		// The code of an attempt does not belong to another attempt of the same browser.
		mine, browser := w.begin("")
		theirs, _ := w.begin(browser)
		mine["code"] = theirs["code"]
		_, err = w.complete(mine, browser)
		refused("the code of another attempt", err)

		late, browser := w.begin("")
		testkit.Exec(w.T, w.URL, "UPDATE sign_ins SET expires_at = 1")
		_, err = w.complete(late, browser)
		refused("too late", err)
		if err := w.Sessions.DropEnded(w.T.Context()); err != nil {
			w.T.Fatal(err)
		}
		testkit.Exec(w.T, w.URL, "UPDATE sign_ins SET expires_at = 9000000000000")
		_, err = w.complete(late, browser)
		refused("after it was dropped", err)
	})
}

func TestTwoTabsSignInAtTheSameTime(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		first, browser := w.begin("")
		second, same := w.begin(browser)
		if same != browser {
			w.T.Error("the second tab took the first one's cookie away")
		}
		for i, back := range []url.Values{first, second} {
			if _, err := w.complete(back, browser); err != nil {
				w.T.Errorf("tab %d: %v", i+1, err)
			}
		}
	})
}

func TestTheFirstSignInOfAPersonInManyBrowsersAtOnce(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		var all sync.WaitGroup
		for range 6 {
			back, browser := w.begin("")
			all.Go(func() {
				if _, err := w.complete(back, browser); err != nil {
					w.T.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
		if users := w.users(); len(users) != 1 {
			w.T.Errorf("got %d users, want one", len(users))
		}
		keys, err := w.Keys.List(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		keys = slices.DeleteFunc(keys, func(k penstock.Key) bool { return !k.SignIn })
		if len(keys) != 1 {
			w.T.Errorf("got %d keys of sign-ins, want one", len(keys))
		}
	})
}

// What the provider says at a sign-in counts for all sessions and keys of the person, at once.
func TestGroupsOfTheLastSignInCount(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		old := w.mustSignIn()
		m := w.users()[0]
		key := w.keyOf(m, penstock.EditorRole)
		if !w.caller(key).May(penstock.ScopeFactoriesManage) {
			w.T.Error("the key of an editor by a group is no editor's")
		}
		w.idp.Person(grace("ada", "ops-eu"))
		if s := w.mustSignIn(); !slices.Contains(s.Scopes, penstock.ScopeAdmin) {
			w.T.Errorf("an admin by the pattern of a group may %v", s.Scopes)
		}
		if p, err := w.resume(old); err != nil || !p.May(penstock.ScopeAdmin) {
			w.T.Errorf("the older session is of %+v, %v", p, err)
		}
		w.idp.Person(grace("ada", "other"))
		if _, err := w.signIn(); penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("without a role: got %v", err)
		}
		// The refusal is known, too: what the person had before is nothing now.
		if p, err := w.resume(old); err != nil || len(p.Scopes) != 0 {
			w.T.Errorf("the older session of a person without a role is of %+v, %v", p, err)
		}
		if p := w.caller(key); len(p.Scopes) != 0 {
			w.T.Errorf("the key of a person without a role may %v", p.Scopes)
		}
	})
}

func TestADisabledPersonIsRefusedAndStaysOut(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		s := w.mustSignIn()
		back, browser := w.begin("")
		w.disable(w.users()[0], true)
		if _, err := w.resume(s); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
			w.T.Errorf("the session: got %v", err)
		}
		_, err := w.complete(back, browser)
		if penstock.CodeOf(err) != penstock.CodeNotAuthorized || !strings.Contains(err.Error(), "Ada is disabled") {
			w.T.Errorf("a sign-in that was under way: got %v", err)
		}
		w.disable(w.users()[0], false)
		if _, err := w.resume(s); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
			w.T.Errorf("the old session, after enabling: got %v", err)
		}
		w.mustSignIn()
	})
}

// Nobody is left with what only the configuration of yesterday gave.
func TestKeysOfAPersonSleepWithoutASignIn(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		w.mustSignIn()
		m := w.users()[0]
		key := w.keyOf(m, penstock.EditorRole)
		w.caller(key)
		testkit.Exec(w.T, w.URL, "UPDATE principals SET signed_in_at = signed_in_at - 7 * 86400000 WHERE issuer <> ''")
		_, err := w.Keys.Authenticate(w.T.Context(), key.Key)
		if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired ||
			!strings.Contains(err.Error(), "the key sleeps: Ada") {
			w.T.Errorf("got %v", err)
		}
		w.mustSignIn()
		w.caller(key)
	})
}

// A session of a sign-in lives shorter than one of a key, because groups change.
func TestASessionOfASignInEndsWithItsLife(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		s := w.mustSignIn()
		if left := time.Until(s.ExpiresAt.Std()); left > 12*time.Hour || left < 11*time.Hour {
			w.T.Errorf("it ends in %v, want 12 h", left)
		}
		testkit.Exec(w.T, w.URL, "UPDATE sessions SET created_at = created_at - 12 * 3600000")
		if _, err := w.resume(s); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
			w.T.Errorf("got %v", err)
		}
	})
}

// The key of the sign-ins is one that can be revoked, and nothing else.
func TestTheKeyOfSignIns(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		s := w.mustSignIn()
		keys, err := w.Keys.List(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		at := slices.IndexFunc(keys, func(k penstock.Key) bool { return k.UID == s.KeyUID })
		if at < 0 || !keys[at].SignIn || keys[at].Owner.DisplayName != "Ada" {
			w.T.Errorf("the keys are %+v", keys)
		}
		bob := w.person("Bob", penstock.AdminRole)
		_, err = w.Keys.Assign(w.T.Context(), w.Admin, s.KeyUID, access.KeyChange{OwnerUID: bob.UID})
		if penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("giving it to another user: got %v", err)
		}
		// It is no way in for the team's last admin.
		_, err = w.Members.Grant(w.T.Context(), w.Admin, access.GrantRequest{
			SubjectType: penstock.GrantToUser, Subject: s.PrincipalUID, Role: penstock.AdminRole,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		if err := w.Keys.Revoke(w.T.Context(), w.Admin, w.Admin.KeyUID); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("revoking the last key of an admin: got %v", err)
		}
		if err := w.Keys.Revoke(w.T.Context(), w.Admin, s.KeyUID); err != nil {
			w.T.Fatal(err)
		}
		if _, err := w.resume(s); penstock.CodeOf(err) != penstock.CodeAuthenticationRequired {
			w.T.Errorf("after it was revoked: got %v", err)
		}
		if next := w.mustSignIn(); next.KeyUID == s.KeyUID {
			w.T.Error("the revoked key came back")
		}
	})
}

func TestGrantsOfTheConfigurationAreListedAndStay(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		grants, err := w.Members.Grants(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		last := grants[len(grants)-1]
		if last.Provider != "Corp" || last.Subject != "ops-*" || last.Role != penstock.AdminRole {
			w.T.Errorf("the grants are %+v", grants)
		}
		if err := w.Members.Revoke(w.T.Context(), w.Admin, last.UID); penstock.CodeOf(err) != penstock.CodeConflict {
			w.T.Errorf("got %v", err)
		}
	})
}

// Who manages access cannot act on an admin, even if only a group makes them one.
func TestAnAdminByAGroupOutranks(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		w.idp.Person(grace("ada", "ops-eu"))
		w.mustSignIn()
		key := w.CreateKey(w.Admin, access.KeyRequest{
			Name: "people", Scopes: []penstock.Scope{penstock.ScopeAccessManage, penstock.ScopeKeysManage},
		})
		m := w.users()[0]
		disabled := true
		_, err := w.Members.Update(
			w.T.Context(), w.caller(key), penstock.MemberUser, m.UID, access.MemberChange{Disabled: &disabled},
		)
		if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
			w.T.Errorf("disabling an admin: got %v", err)
		}
	})
}

func TestWhereASignInReturnsTo(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		for _, path := range []string{
			"//evil.example", `/\evil.example`, "https://evil.example", "runs", "/a\nb", "/" + strings.Repeat("a", 2048),
		} {
			_, _, err := w.Sessions.Begin(w.T.Context(), nil, access.SignInRequest{Provider: "Corp", ReturnTo: path})
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), "/return_to") {
				w.T.Errorf("%.30q: got %v", path, err)
			}
		}
		_, _, err := w.Sessions.Begin(w.T.Context(), nil, access.SignInRequest{Provider: "other"})
		if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("an unknown provider: got %v", err)
		}
	})
}

func TestNamesOfOthersAreStoredAsTheyCanBeRead(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		w.idp.Person(map[string]any{
			"sub": "x", "name": "A\nda\u202e " + strings.Repeat("ä", 500), "email": "not an address", "groups": "dev",
		})
		w.mustSignIn()
		m := w.users()[0]
		if strings.ContainsAny(m.DisplayName, "\n\u202e") || !strings.HasPrefix(m.DisplayName, "A da ä") ||
			len(m.DisplayName) > 100 || m.Email != "" {
			w.T.Errorf("got %q %q", m.DisplayName, m.Email)
		}
	})
}

func TestAPersonOfAnotherIssuerIsAnother(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		_, err := w.Members.Create(w.T.Context(), w.Admin, penstock.MemberUser, access.MemberRequest{
			DisplayName: "Ada", Issuer: "https://other.example", Subject: "ada", Role: penstock.AdminRole,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		if s := w.mustSignIn(); slices.Contains(s.Scopes, penstock.ScopeAdmin) {
			w.T.Error("the sub of another issuer made an admin")
		}
		// The configuration's groups count for its issuer only.
		if users := w.users(); len(users) != 2 {
			w.T.Errorf("the users are %+v", users)
		}
	})
}

func TestAnAdminInvitesAPersonBeforeTheySignIn(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		invited, err := w.Members.Create(w.T.Context(), w.Admin, penstock.MemberUser, access.MemberRequest{
			DisplayName: "Invited", Issuer: w.idp.URL, Subject: "new", Role: penstock.UserRole,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		w.idp.Person(grace("new"))
		if s := w.mustSignIn(); s.PrincipalUID != invited.UID || s.Actor.DisplayName != "New" {
			w.T.Errorf("the session is %+v", s.Session)
		}
	})
}

// Groups that the provider does not say any more are unknown, and not none, also where no setting asks for them.
func TestGroupsThatAreNotSaidAnyMore(t *testing.T) {
	signIns(t, func(w *signInWorld) {
		w.mustSignIn()
		p, err := openid.New(openid.Settings{
			Name: "Corp", Issuer: w.idp.URL, ClientID: w.idp.ClientID, ClientSecretFile: w.idp.SecretFile(w.T),
		}, "https://penstock.example/sign-in/callback")
		if err != nil {
			w.T.Fatal(err)
		}
		w.Deps.SignIn = []*openid.Provider{p}
		w.Restart()
		_, err = w.Members.Grant(w.T.Context(), w.Admin, access.GrantRequest{
			SubjectType: penstock.GrantToUser, Subject: w.users()[0].UID, Role: penstock.ViewerRole,
		})
		if err != nil {
			w.T.Fatal(err)
		}
		w.idp.Person(map[string]any{"sub": "ada"})
		_, err = w.signIn()
		if penstock.CodeOf(err) != penstock.CodeNotAuthorized || !strings.Contains(err.Error(), "groups_claim") {
			w.T.Errorf("got %v", err)
		}
		if groups := w.users()[0].Groups; !slices.Equal(groups, []string{"dev"}) {
			w.T.Errorf("the groups are %v", groups)
		}
		w.idp.Person(grace("ada"))
		w.mustSignIn()
		w.idp.Person(map[string]any{"sub": "ada"})
		w.mustSignIn() // had no groups, and needs none
	})
}
