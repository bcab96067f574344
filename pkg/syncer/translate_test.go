package syncer

import "testing"

func TestTranslate(t *testing.T) { // I3, ST-1
	now := func(provider, consumer int64) Generations {
		return Generations{Provider: provider, Consumer: consumer, Current: true}
	}
	behind := func(provider, consumer int64) Generations {
		return Generations{Provider: provider, Consumer: consumer}
	}
	for _, row := range []struct {
		name        string
		generations Generations
		before      string
		status      string
		want        string // "" for the very bytes that came in
	}{
		{"nothing to translate", now(3, 7), ``, `{ "phase" : "A" }`, ""},
		{"no status", now(3, 7), ``, ``, ""},
		{"a word in a text is no field", now(3, 7), ``, `{ "text": "\"observedGeneration\"" }`, ""},
		{"a field of that name deeper inside stays", now(3, 7), ``, `{ "parts": {"observedGeneration": 3} }`, ""},
		{"no object", now(3, 7), ``, `["observedGeneration"]`, ""},
		{"processed", now(3, 7), ``, `{"observedGeneration":3,"phase":"A"}`, `{"observedGeneration":7,"phase":"A"}`},
		{"a float that is whole", now(3, 7), ``, `{"observedGeneration":3.0}`, `{"observedGeneration":7}`},
		{"a large number keeps its digits", now(3, 7), ``, `{"observedGeneration":3,"n":9007199254740993}`, `{"n":9007199254740993,"observedGeneration":7}`},
		{"a text stays", now(3, 7), ``, `{"observedGeneration":"3"}`, ""},
		{"a null stays", now(3, 7), ``, `{"observedGeneration":null}`, ""},
		{"a broken number stays", now(3, 7), ``, `{"observedGeneration":3.5}`, ""},
		{"not processed yet", now(3, 7), ``, `{"observedGeneration":2}`, `{"observedGeneration":6}`},
		{"ahead of the cache", now(3, 7), ``, `{"observedGeneration":4}`, `{"observedGeneration":7}`},
		{"the copy is not what is asked for", behind(3, 7), ``, `{"observedGeneration":3}`, `{"observedGeneration":6}`},
		{"a smaller number that is there stays", behind(3, 7), `{"observedGeneration":4}`, `{"observedGeneration":3}`, `{"observedGeneration":4}`},
		{"one that would say processed does not", behind(3, 7), `{"observedGeneration":7}`, `{"observedGeneration":3}`, `{"observedGeneration":6}`},
		{"what was processed stays so while the provider's own writers go on", now(9, 7), `{"observedGeneration":7}`, `{"observedGeneration":3}`, `{"observedGeneration":7}`},
		{"a new copy counts from one", now(1, 7), `{"observedGeneration":7}`, `{"observedGeneration":1}`, `{"observedGeneration":7}`},
		{"zero is not looked at yet", now(3, 7), ``, `{"observedGeneration":0}`, `{"observedGeneration":0}`},
		{"and so is less", behind(3, 7), ``, `{"observedGeneration":-1}`, `{"observedGeneration":-1}`},
		{"the first generation has none before it", behind(3, 1), ``, `{"observedGeneration":3}`, `{"observedGeneration":0}`},
		{"the consumer has no generations", now(3, 0), ``, `{"observedGeneration":3}`, `{"observedGeneration":0}`},
		{
			"conditions as well", now(3, 7), ``,
			`{"conditions":[{"type":"Ready","observedGeneration":3},{"type":"Busy","observedGeneration":2},{"type":"Old"}]}`,
			`{"conditions":[{"observedGeneration":7,"type":"Ready"},{"observedGeneration":6,"type":"Busy"},{"type":"Old"}]}`,
		},
		{
			"conditions are told by type", behind(3, 7), `{"conditions":[{"type":"Busy","observedGeneration":2},{"type":"Ready","observedGeneration":4}]}`,
			`{"conditions":[{"type":"Ready","observedGeneration":3},{"type":"Busy","observedGeneration":3},{"type":"New","observedGeneration":3}]}`,
			`{"conditions":[{"observedGeneration":4,"type":"Ready"},{"observedGeneration":2,"type":"Busy"},{"observedGeneration":6,"type":"New"}]}`,
		},
		{"conditions that are a map stay", now(3, 7), ``, `{"conditions":{"observedGeneration":3}}`, ""},
		{"conditions of something else stay", now(3, 7), ``, `{"observedGeneration":3,"conditions":["a"]}`, `{"conditions":["a"],"observedGeneration":7}`},
		{"no conditions", now(3, 7), ``, `{"observedGeneration":3,"conditions":null}`, `{"conditions":null,"observedGeneration":7}`},
		{"what the consumer has now may be anything", now(3, 7), `"text"`, `{"observedGeneration":3}`, `{"observedGeneration":7}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := row.want
			if want == "" {
				want = row.status
			}
			got := Translate([]byte(row.status), row.generations, []byte(row.before))
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if again := Translate([]byte(row.status), row.generations, got); string(again) != want {
				t.Errorf("the second time it is %s", again)
			}
		})
	}
}
