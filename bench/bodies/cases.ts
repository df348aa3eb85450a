/** Bodies of nearly the largest size that a request may have, each of another shape. */

import { attacks } from "./attacks.ts";
import { changeBodies } from "./changes.ts";
import { customBodies } from "./custom-objects.ts";
import { objectBodies } from "./objects.ts";
import type { Case } from "./requests.ts";
import { yamlBodies } from "./yaml.ts";

/** By name, made when they are needed. */
export const cases: Readonly<Record<string, () => Case>> = {
  ...attacks,
  ...objectBodies,
  ...customBodies,
  ...yamlBodies,
  ...changeBodies,
};
