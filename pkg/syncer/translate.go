package syncer

import (
	"bytes"
	"encoding/json"
	"math"
)

// Generations are what observedGeneration is translated by.
type Generations struct {
	// Provider is the generation of the copy, Consumer that of its object.
	Provider, Consumer int64
	// Current says that the copy is what the consumer asks for now.
	Current bool
}

const observedGeneration = "observedGeneration"

// Translate returns a status of the provider as the consumer has to see it: the
// same, but with every observedGeneration, at the top and in conditions, counted in
// the consumer's generations. Where the provider has processed what the consumer
// asks for now, that is the consumer's generation, and a smaller number elsewhere: so
// tools that wait for it tell the truth. before is the status that the consumer has
// now: a smaller number that is there already stays.
func Translate(status []byte, generations Generations, before []byte) []byte {
	if !bytes.Contains(status, []byte(`"`+observedGeneration+`"`)) {
		return status
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(status, &fields) != nil {
		return status
	}
	var old map[string]json.RawMessage
	_ = json.Unmarshal(before, &old) // what is no object had no generation either
	changed := translateIn(fields, old, generations)
	if conditions, ok := translateConditions(fields["conditions"], old["conditions"], generations); ok {
		fields["conditions"] = conditions
		changed = true
	}
	if !changed {
		return status
	}
	result, err := json.Marshal(fields)
	if err != nil {
		return status
	}
	return result
}

// translateConditions translates a list of conditions, those of before being told
// by their type. ok is false when there is nothing to translate.
func translateConditions(list, before json.RawMessage, generations Generations) (result json.RawMessage, ok bool) {
	var conditions, old []map[string]json.RawMessage
	if len(list) == 0 || json.Unmarshal(list, &conditions) != nil {
		return nil, false
	}
	_ = json.Unmarshal(before, &old)
	byType := make(map[string]map[string]json.RawMessage, len(old))
	for _, condition := range old {
		byType[string(condition["type"])] = condition
	}
	changed := false
	for _, condition := range conditions {
		if translateIn(condition, byType[string(condition["type"])], generations) {
			changed = true
		}
	}
	if !changed {
		return nil, false
	}
	result, err := json.Marshal(conditions)
	return result, err == nil
}

// translateIn translates the field of one map, and reports whether it was there.
func translateIn(fields, before map[string]json.RawMessage, generations Generations) bool {
	observed, has := number(fields[observedGeneration])
	if !has {
		return false
	}
	was, _ := number(before[observedGeneration])
	translated, err := json.Marshal(generations.translate(observed, was))
	if err != nil {
		return false
	}
	fields[observedGeneration] = translated
	return true
}

// translate returns the number that the consumer sees; was is the one that it sees now.
func (g Generations) translate(observed, was int64) int64 {
	// What was processed stays so, while the provider's own writers move its generation on.
	if g.Current && (observed >= g.Provider || was == g.Consumer) {
		return g.Consumer
	}
	if observed <= 0 {
		return observed // "not looked at yet" has no generation on either side
	}
	if was > 0 && was < g.Consumer {
		return was
	}
	return max(g.Consumer-1, 0)
}

// number returns a JSON number without fraction.
func number(raw json.RawMessage) (value int64, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false
	}
	var float float64
	err := json.Unmarshal(raw, &float)
	return int64(float), err == nil && float == math.Trunc(float)
}
