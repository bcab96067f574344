package ownership

import (
	"encoding/json"
	"strings"
)

// Owns reports whether our field manager still owns all that is desired. An API
// server takes a field away from its owner when somebody else changes or removes
// it, so that what is owned tells of drift without a schema and without the values.
// fields is the JSON of managedFields; see KEP-555 (server-side apply).
func Owns(fields string, desired Desired) bool {
	if fields == "" {
		return false
	}
	var owned map[string]any
	if json.Unmarshal([]byte(fields), &owned) != nil {
		return false
	}
	var payload map[string]any
	if json.Unmarshal(desired.Payload, &payload) != nil {
		return false
	}
	metadata, _ := owned["f:metadata"].(map[string]any)
	return ownsKeys(metadata["f:labels"], desired.Labels) &&
		ownsKeys(metadata["f:annotations"], desired.Annotations) &&
		ownsMap(owned, payload)
}

// ownsKeys reports whether all keys of labels or annotations are owned.
func ownsKeys(owned any, wanted map[string]string) bool {
	fields, _ := owned.(map[string]any)
	for key := range wanted {
		if _, has := fields["f:"+key]; !has {
			return false
		}
	}
	return true
}

// ownsMap reports whether all fields of a map are owned, with all that is in them.
func ownsMap(owned, wanted map[string]any) bool {
	for key, value := range wanted {
		child, has := owned["f:"+key].(map[string]any)
		if !has || !ownsValue(child, value) {
			return false
		}
	}
	return true
}

// ownsValue reports whether a value is owned. An owned field without children is
// a leaf: a scalar, or a map or list that is owned as a whole.
func ownsValue(owned map[string]any, value any) bool {
	if len(owned) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		return ownsMap(owned, value)
	case []any:
		return ownsList(owned, value)
	default:
		return true
	}
}

// ownsList reports whether all items of a list are owned: by value in a set, by
// key in a list that is a map.
func ownsList(owned map[string]any, items []any) bool {
	entries := 0
	for field, child := range owned {
		switch {
		case strings.HasPrefix(field, "v:"), strings.HasPrefix(field, "i:"):
			entries++
		case strings.HasPrefix(field, "k:"):
			entries++
			fields, _ := child.(map[string]any)
			if !ownsItem(fields, field[len("k:"):], items) {
				return false
			}
		}
	}
	return entries >= len(items)
}

// ownsItem reports whether the item with the given keys is owned with all that is in it.
// An item that is no longer wanted goes with the next apply and is none of this question's.
func ownsItem(owned map[string]any, keys string, items []any) bool {
	var key map[string]any
	if json.Unmarshal([]byte(keys), &key) != nil {
		return false
	}
	for _, item := range items {
		fields, isMap := item.(map[string]any)
		if isMap && hasKey(fields, key) {
			return ownsValue(owned, fields)
		}
	}
	return true
}

// hasKey reports whether an item has the keys' values. Keys that the item leaves
// out were filled in by defaults of the schema.
func hasKey(item, key map[string]any) bool {
	for name, value := range key {
		if given, has := item[name]; has && given != value {
			return false
		}
	}
	return true
}
