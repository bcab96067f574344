package controlplane

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestInForce(t *testing.T) {
	list := rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	one := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"one"}}
	path := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}
	answer := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{
			{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews"}},
			{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{}},
		},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}},
	}
	rules := func(rules ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return rules }
	for _, test := range []struct {
		name           string
		wanted, former []rbacv1.PolicyRule
		want           bool
	}{
		{"what is wanted is there", rules(list, path), nil, true},
		{"something wanted is missing", rules(list, one), nil, false},
		{"nothing is wanted", nil, nil, true},
		{"something of before is still there", nil, rules(list), false},
		{"what was there before is gone", rules(list), rules(one), true},
		{"what was there before is wanted still", rules(list), rules(list), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := inForce(answer, test.wanted, test.former); got != test.want {
				t.Errorf("in force: %t, want %t", got, test.want)
			}
		})
	}
}
