import type { Fault } from "./faults.ts";
import { positionOf } from "./place.ts";
import { type Problem, unreadableText } from "./problem.ts";
import type { LeftOut } from "./read.ts";
import type { World } from "./world.ts";

/** Returns the problem that an object of the world cannot be read. */
export function faultProblem(world: World, { object, label, message }: Fault): Problem {
  const place = world.located(object)?.place;
  return {
    rule: "unreadable",
    ...(place === undefined ? { file: "the objects" } : positionOf(place)),
    object: label,
    message: unreadableText(message),
  };
}

/** Returns the object as one that an answer lacks. */
export function leftOutOf(world: World, fault: Fault): LeftOut[] {
  const place = world.located(fault.object)?.place;
  if (place === undefined) return [];
  const { kind } = fault.object;
  return [{ kind, label: fault.label, place, problems: [faultProblem(world, fault)] }];
}
