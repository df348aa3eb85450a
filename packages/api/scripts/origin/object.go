package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	key   string
	value any
}

func (o object) get(key string) any {
	for _, each := range o {
		if each.key == key {
			return each.value
		}
	}
	return nil
}

// set replaces a member, or adds it at the end.
func (o *object) set(key string, value any) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

// text writes a value on one line, with a blank after commas and colons.
func text(value any) string {
	switch value := value.(type) {
	case object:
		parts := make([]string, len(value))
		for i, each := range value {
			parts[i] = text(each.key) + ": " + text(each.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(value))
		for i, each := range value {
			parts[i] = text(each)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		fail("%v", err)
	}
	return strings.TrimSpace(out.String())
}

// read parses JSON, with objects in their order and whole numbers as int.
func read(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := readValue(decoder)
	if err != nil {
		fail("%v", err)
	}
	return value
}

func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			list := []any{}
			for decoder.More() {
				value, err := readValue(decoder)
				if err != nil {
					return nil, err
				}
				list = append(list, value)
			}
			_, err := decoder.Token()
			return list, err
		}
		made := object{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			made = append(made, member{key.(string), value})
		}
		_, err := decoder.Token()
		return made, err
	case json.Number:
		number, err := token.Int64()
		return int(number), err
	}
	return token, nil
}
