package main

import (
	"context"
	"encoding/json"
	"math"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type celCase struct {
	Expression string   `json:"expression"`
	Features   []string `json:"features"` // ConsumableCapacity, ListTypeAttributes
	Stored     *bool    `json:"stored"`   // environment of stored expressions (default) or of new ones
	CostLimit  *uint64  `json:"costLimit"`
	Driver     string   `json:"driver"`
	Devices    []struct {
		AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
		Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
		Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
	} `json:"devices"`
	Repeat int `json:"repeat"`
}

func celDevice(raw []byte) (any, error) {
	var c celCase
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	var f dracel.Features
	for _, n := range c.Features {
		switch n {
		case "ConsumableCapacity":
			f.EnableConsumableCapacity = true
		case "ListTypeAttributes":
			f.EnableListTypeAttributes = true
		}
	}
	env := environment.StoredExpressions
	if c.Stored != nil && !*c.Stored {
		env = environment.NewExpressions
	}
	r := dracel.GetCompiler(f).CompileCELExpression(c.Expression, dracel.Options{EnvType: &env, CostLimit: c.CostLimit})
	if r.Error != nil {
		return map[string]any{"compileError": r.Error.Detail, "type": r.Error.Type}, nil
	}
	out := map[string]any{"maxCost": r.MaxCost}
	if r.MaxCost == math.MaxUint64 {
		out["maxCost"] = "unlimited"
	}
	evals := []any{}
	for _, d := range c.Devices {
		in := dracel.Device{Driver: c.Driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity}
		start := time.Now()
		ok, details, err := r.DeviceMatches(context.Background(), in)
		for i := 1; i < c.Repeat; i++ {
			_, _, _ = r.DeviceMatches(context.Background(), in)
		}
		e := map[string]any{}
		if c.Repeat > 0 {
			e["nsEach"] = time.Since(start).Nanoseconds() / int64(c.Repeat)
		}
		if err != nil {
			e["error"] = dracel.EnhanceRuntimeError(err).Error()
		} else {
			e["matches"] = ok
		}
		if details != nil && details.ActualCost() != nil {
			e["cost"] = *details.ActualCost()
		}
		evals = append(evals, e)
	}
	out["devices"] = evals
	return out, nil
}
