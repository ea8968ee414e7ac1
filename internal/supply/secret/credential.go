package secret

import (
	"regexp"
	"strings"

	"github.com/penstock-dev/penstock"
)

// credentialRule finds the credentials of one issuer.
type credentialRule struct {
	name  string
	start string // is part of each match: a search for it is fast
	match func() *regexp.Regexp
}

func rule(name, start, pattern string) credentialRule {
	return credentialRule{name, start, penstock.LazyRegexp(pattern)}
}

// credentialRules are formats that a text cannot have by chance: a prefix of the issuer's, and as many
// characters as it uses. Sources are the issuers' own documents.
var credentialRules = []credentialRule{
	rule("a private key", "PRIVATE KEY",
		`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s*(?:[A-Za-z0-9+/=:,. -]*\s+)*?[A-Za-z0-9+/]{40}`),
	rule("an AWS access key", "AKIA", `AKIA[A-Z2-7]{16}\b`),
	rule("an AWS access key", "ASIA", `ASIA[A-Z2-7]{16}\b`),
	rule("a GitHub token", "gh", `gh[pousr]_[A-Za-z0-9]{36,251}\b`),
	rule("a GitHub token", "github_pat_", `github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b`),
	rule("a GitLab token", "gl", `gl(?:pat|ptt|rt|cbt|dt|oas|soat|ft|imt|agent)-[A-Za-z0-9_-]{20,}`),
	rule("a Slack token", "xox", `xox[abeoprs]-[A-Za-z0-9-]{20,}`),
	rule("a Slack app token", "xapp-", `xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{40,}`),
	rule("a Slack webhook", "hooks.slack.com",
		`hooks\.slack\.com/(?:services|workflows|triggers)/T[A-Z0-9]{6,}/[A-Za-z0-9/]{20,}`),
	rule("a Stripe key", "_live_", `[rs]k_live_[A-Za-z0-9]{20,}`),
	rule("a webhook secret", "whsec_", `whsec_[A-Za-z0-9+/=]{24,}`),
	rule("a Google API key", "AIza", `AIza[A-Za-z0-9_-]{35}\b`),
	rule("a Google OAuth secret", "GOCSPX-", `GOCSPX-[A-Za-z0-9_-]{28}\b`),
	rule("an Anthropic key", "sk-ant-", `sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{32,}`),
	rule("an OpenAI key", "T3BlbkFJ", `sk-(?:[a-z]+-)?[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}`),
	rule("an OpenRouter key", "sk-or-v1-", `sk-or-v1-[a-f0-9]{64}\b`),
	rule("an npm token", "npm_", `npm_[A-Za-z0-9]{36}\b`),
	rule("a PyPI token", "pypi-AgE", `pypi-AgE[A-Za-z0-9_-]{50,}`),
	rule("a SendGrid key", "SG.", `SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b`),
	rule("a Hugging Face token", "hf_", `hf_[A-Za-z]{34}\b`),
	rule("a DigitalOcean token", "_v1_", `do[opr]_v1_[a-f0-9]{64}\b`),
	rule("a Vault token", "hv", `hv[sbr]\.[A-Za-z0-9_-]{24,}`),
	rule("an HCP Terraform token", ".atlasv1.", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}`),
	rule("an Atlassian token", "ATATT3", `ATATT3[A-Za-z0-9_=-]{100,}`),
	rule("a Databricks token", "dapi", `dapi[a-f0-9]{32}\b`),
	rule("a Docker token", "dckr_", `dckr_[po]at_[A-Za-z0-9_-]{27,}`),
	rule("a Grafana token", "gl", `gl(?:sa_[A-Za-z0-9]{32}_[a-f0-9]{8}|c_[A-Za-z0-9+/]{40,})`),
	rule("a Linear key", "lin_api_", `lin_api_[A-Za-z0-9]{40}\b`),
	rule("a Notion token", "ntn_", `ntn_[A-Za-z0-9]{40,}\b`),
	rule("a Shopify token", "shp", `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b`),
	rule("a Supabase key", "sb", `sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})`),
	rule("an age key", "AGE-SECRET-KEY-1", `AGE-SECRET-KEY-1[A-Z0-9]{58}\b`),
	rule("an Azure storage key", "AccountKey=", `AccountKey=[A-Za-z0-9+/]{86}==`),
	rule("a Sentry token", "sntry", `sntry[su]_[A-Za-z0-9+/=_-]{60,}`),
	rule("a Penstock key", "psk_", `psk_[A-Za-z0-9_-]{43}\b`),
	rule("a New Relic key", "NRAK-", `NRAK-[A-Z0-9]{27}\b`),
}

// FindCredential names the first credential of a known issuer in a text, "" for none.
func FindCredential(text string) string {
	for _, r := range credentialRules {
		if !strings.Contains(text, r.start) {
			continue
		}
		for _, found := range r.match().FindAllString(text, -1) {
			if !strings.Contains(strings.ToUpper(found), "EXAMPLE") { // as documents write it
				return r.name
			}
		}
	}
	return ""
}
