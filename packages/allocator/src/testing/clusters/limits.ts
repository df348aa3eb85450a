import type { DeviceSubRequest } from "@dray/api/resource/v1";
import fc from "fast-check";
import type { Question } from "../reference.ts";
import { classes, driver, makeClaim, makeSlice, nodes } from "./objects.ts";
import { allFeatures, defaultFeatures, often } from "./theme.ts";

/**
 * Claims that can exceed the maximum number of devices: alternatives that request all devices of a model or a
 * few. Earlier choices decide what is left. A device without `single` is an error if the search reaches it.
 */
export function limitQuestions(): fc.Arbitrary<Question> {
  const alternative = fc.record({
    model: fc.nat(2),
    all: fc.boolean(),
    count: often(1, fc.constant(2)),
  });
  return fc
    .record({
      features: fc.constantFrom<readonly string[]>(defaultFeatures, allFeatures),
      /** Devices of each model. */
      sizes: fc.array(fc.constantFrom(1, 2, 10, 16), { minLength: 3, maxLength: 3 }),
      silent: fc.option(fc.nat(40), { freq: 2 }),
      claims: fc.array(
        fc.array(fc.array(alternative, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
        { minLength: 1, maxLength: 2 },
      ),
    })
    .map(({ features, sizes, silent, claims }) => {
      const models = sizes.flatMap((size, model) =>
        Array.from({ length: size }, (_, nth) => ({ model, nth })),
      );
      const devices = models.map(({ model, nth }, i) => ({
        name: `d${i}`,
        attributes: {
          model: { int: model },
          // Only requests with a count read it.
          ...(i === silent ? {} : { single: { bool: nth < 2 } }),
        },
      }));
      const sub = (
        { model, all, count }: { model: number; all: boolean; count: number },
        s: number,
      ): DeviceSubRequest => {
        const own = `device.attributes["${driver}"].model == ${model}`;
        const expression = all ? own : `device.attributes["${driver}"].single && ${own}`;
        const selectors = [{ cel: { expression } }];
        const mode = all ? { allocationMode: "All" } : { allocationMode: "ExactCount", count };
        return { name: `s${s}`, deviceClassName: "gpu", selectors, ...mode };
      };
      const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
      return {
        features,
        node: nodes[0]!,
        classes,
        slices: [makeSlice("devices", { driver, pool, nodeName: "node-1", devices })],
        claims: claims.map((requests, i) =>
          makeClaim(`c${i}`, {
            requests: requests.map((list, r) => ({ name: `r${r}`, firstAvailable: list.map(sub) })),
          }),
        ),
      };
    });
}
