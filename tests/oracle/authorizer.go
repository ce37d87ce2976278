package main

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// rule is one line of an access list; an absent field, or "*", fits anything. One with a path is for paths only.
type rule struct {
	User, Verb, Group, Resource, Subresource, Namespace, Name, Path *string

	Allowed bool
	Reason  string
	Error   string
}

// rules answer with the first that fits, and deny the rest.
type rules []rule

func (list rules) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, r := range list {
		if !r.fits(a) {
			continue
		}
		decision, err := authorizer.DecisionDeny, error(nil)
		if r.Allowed {
			decision = authorizer.DecisionAllow
		}
		if r.Error != "" {
			err = errors.New(r.Error)
		}
		return decision, r.Reason, err
	}
	return authorizer.DecisionDeny, "", nil
}

func (r rule) fits(a authorizer.Attributes) bool {
	if a.IsResourceRequest() == (r.Path != nil) {
		return false
	}
	for _, pair := range []struct {
		want *string
		have string
	}{
		{r.User, a.GetUser().GetName()}, {r.Verb, a.GetVerb()}, {r.Path, a.GetPath()}, {r.Group, a.GetAPIGroup()},
		{r.Resource, a.GetResource()}, {r.Subresource, a.GetSubresource()},
		{r.Namespace, a.GetNamespace()}, {r.Name, a.GetName()},
	} {
		if pair.want != nil && *pair.want != "*" && *pair.want != pair.have {
			return false
		}
	}
	return true
}

// asked is what authorizer.requestResource knows of the request.
type asked struct {
	Name, Namespace, SubResource string
	Resource                     schema.GroupVersionResource
	UserInfo                     struct {
		Username, UID string
		Groups        []string
		Extra         map[string][]string
	}
}

func readAsked(raw json.RawMessage) (*asked, error) {
	out := &asked{}
	if len(raw) == 0 {
		return out, nil
	}
	return out, json.Unmarshal(raw, out)
}

func (a *asked) user() user.Info {
	return &user.DefaultInfo{Name: a.UserInfo.Username, UID: a.UserInfo.UID, Groups: a.UserInfo.Groups, Extra: a.UserInfo.Extra}
}

func (a *asked) GetName() string                          { return a.Name }
func (a *asked) GetNamespace() string                     { return a.Namespace }
func (a *asked) GetResource() schema.GroupVersionResource { return a.Resource }
func (a *asked) GetSubresource() string                   { return a.SubResource }
