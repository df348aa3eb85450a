package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func init() {
	ops["decode"] = readObject
	ops["yaml"] = readYAML
	ops["json"] = readJSON
}

func newSerializer(strict bool) *kubejson.Serializer {
	return kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		kubejson.SerializerOptions{Strict: strict})
}

// readObject says how an API server reads a JSON body: the object as it would
// write it, what strict validation refuses, or why it cannot be read at all.
func readObject(raw []byte) (any, error) {
	var question struct{ Text string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	answer := map[string]any{}
	object, _, err := newSerializer(true).Decode([]byte(question.Text), nil, nil)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return map[string]any{"error": err.Error()}, nil
		}
		var problems []string
		for _, problem := range strict.Errors() {
			problems = append(problems, problem.Error())
		}
		answer["problems"] = problems
	}
	var written bytes.Buffer
	if err := newSerializer(false).Encode(object, &written); err != nil {
		return nil, err
	}
	answer["text"] = strings.TrimSpace(written.String())
	return answer, nil
}

// readYAML turns YAML into JSON, and says which keys stand twice.
func readYAML(raw []byte) (any, error) {
	var question struct{ Text string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSON([]byte(question.Text))
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	answer := map[string]any{"text": string(text)}
	if _, err := yaml.YAMLToJSONStrict([]byte(question.Text)); err != nil {
		answer["problems"] = []string{err.Error()}
	}
	return answer, nil
}

// readJSON says why bytes are no JSON.
func readJSON(raw []byte) (any, error) {
	var question struct{ Bytes string }
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(question.Bytes)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	return map[string]any{}, nil
}
