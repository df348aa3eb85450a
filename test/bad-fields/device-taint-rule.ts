import { rows } from "./rows.ts";

export const deviceTaintRuleValues = rows([
  ["deviceSelector", [], "BadRequest"],
  ["deviceSelector.driver", "a_b", "Invalid"],
  ["deviceSelector.pool", "A_b", "Invalid"],
  ["deviceSelector.device", "A_b", "Invalid"],
  ["taint", [], "BadRequest"],
  ["taint.key", undefined, "Invalid", undefined, { alone: false }],
  ["taint.key", "a b", "Invalid"],
  ["taint.value", "a b", "Invalid"],
  ["taint.effect", undefined, "Required"],
  ["taint.effect", "Never", "NotSupported"],
  ["taint.timeAdded", "soon", "BadRequest"],
]);
