package ownership

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Owns reports whether our field manager still owns all that is desired. An API
// server takes a field away from its owner when somebody else changes or removes
// it, so that what is owned tells of drift without a schema and without the values.
// fields is the JSON of managedFields; see KEP-555 (server-side apply).
func Owns(fields string, desired Desired) bool {
	return FirstLost(fields, desired) == ""
}

// FirstLost returns the path of a field that is desired but not owned, such as
// ".spec.color", and "" when all are owned. The order of paths is that of their names.
func FirstLost(fields string, desired Desired) string {
	const all = "." // nothing that could be read is owned
	var owned, payload map[string]any
	if json.Unmarshal([]byte(fields), &owned) != nil || json.Unmarshal(desired.Payload, &payload) != nil {
		return all
	}
	metadata, _ := owned["f:metadata"].(map[string]any)
	if lost := lostKey(metadata["f:annotations"], desired.Annotations); lost != "" {
		return ".metadata.annotations[" + lost + "]"
	}
	if lost := lostKey(metadata["f:labels"], desired.Labels); lost != "" {
		return ".metadata.labels[" + lost + "]"
	}
	return lostInMap(owned, payload)
}

// lostKey returns a label or annotation that is not owned.
func lostKey(owned any, wanted map[string]string) string {
	fields, _ := owned.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if _, has := fields["f:"+key]; !has {
			return key
		}
	}
	return ""
}

// lostInMap returns the path of a field of a map that is not owned with all that is in it.
func lostInMap(owned, wanted map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		child, has := owned["f:"+key].(map[string]any)
		if !has && isHollow(wanted[key]) {
			continue
		}
		if !has {
			return "." + key
		}
		if lost := lostInValue(child, wanted[key]); lost != "" {
			return "." + key + lost
		}
	}
	return ""
}

// isHollow reports whether a value holds nothing that can be owned: a set or a list
// that is a map without items, or a map of such.
func isHollow(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, each := range value {
			if !isHollow(each) {
				return false
			}
		}
		return len(value) > 0
	default:
		return false
	}
}

// lostInValue returns the path of what is not owned below a value. An owned field
// without children is a leaf: a scalar, or a map or list that is owned as a whole.
func lostInValue(owned map[string]any, value any) string {
	if len(owned) == 0 {
		return ""
	}
	switch value := value.(type) {
	case map[string]any:
		return lostInMap(owned, value)
	case []any:
		return lostInList(owned, value)
	default:
		return ""
	}
}

// lostInList returns the path of what is not owned of a list's items: owned by
// value in a set, by key in a list that is a map.
func lostInList(owned map[string]any, items []any) string {
	entries := 0
	for _, field := range slices.Sorted(maps.Keys(owned)) {
		switch {
		case strings.HasPrefix(field, "v:"), strings.HasPrefix(field, "i:"):
			entries++
		case strings.HasPrefix(field, "k:"):
			entries++
			keys := field[len("k:"):]
			fields, _ := owned[field].(map[string]any)
			if lost := lostInItem(fields, keys, items); lost != "" {
				return "[" + keys + "]" + lost
			}
		}
	}
	if entries < len(items) {
		return "[]"
	}
	return ""
}

// lostInItem returns the path of what is not owned of the item with the given keys.
// An item that is no longer wanted goes with the next apply and is none of this question's.
func lostInItem(owned map[string]any, keys string, items []any) string {
	var key map[string]any
	if json.Unmarshal([]byte(keys), &key) != nil {
		return ""
	}
	var closest map[string]any
	most := -1
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if given, fits := hasKey(fields, key); fits && given > most {
			closest, most = fields, given
		}
	}
	return lostInValue(owned, closest)
}

// hasKey reports whether an item fits the keys' values, and how many of them it
// gives itself. Keys that an item leaves out were filled in by defaults of the schema.
func hasKey(item, key map[string]any) (given int, fits bool) {
	for name, value := range key {
		own, has := item[name]
		if has && own != value {
			return 0, false
		}
		if has {
			given++
		}
	}
	return given, true
}
