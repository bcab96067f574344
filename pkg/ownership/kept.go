package ownership

import (
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FirstRewritten returns the path of a field that an object of the provider holds
// with another value than the desired one, such as ".spec.color", and "" when there is
// none. It tells of a provider that changes at admission what it is sent: then the
// field stays ours, with somebody else's value. Fields beside the desired ones don't
// count, and neither does an order of lists.
func FirstRewritten(object map[string]any, desired Desired) string {
	var payload map[string]any
	if utiljson.Unmarshal(desired.Payload, &payload) != nil { // integers as clients read them
		return ""
	}
	return rewrittenInMap(object, payload)
}

func rewrittenInMap(have, want map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if path, rewritten := rewrittenValue(have[key], want[key]); rewritten {
			return "." + key + path
		}
	}
	return ""
}

// rewrittenValue reports whether a value is another than the wanted one, and where
// below it.
func rewrittenValue(have, want any) (path string, rewritten bool) {
	switch want := want.(type) {
	case map[string]any:
		fields, isMap := have.(map[string]any)
		if !isMap {
			return "", len(want) > 0
		}
		path = rewrittenInMap(fields, want)
		return path, path != ""
	case []any:
		items, _ := have.([]any)
		return "", !containsAll(items, want)
	case nil:
		return "", false // a null is dropped, or filled in by a default
	default:
		return "", have != want
	}
}

// containsAll reports whether each wanted item is in a list, perhaps with more in it.
func containsAll(have, want []any) bool {
	for _, item := range want {
		found := slices.ContainsFunc(have, func(each any) bool {
			_, rewritten := rewrittenValue(each, item)
			return !rewritten
		})
		if !found {
			return false
		}
	}
	return true
}
