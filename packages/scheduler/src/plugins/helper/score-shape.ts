import { maxScore } from "../../framework/framework.ts";
import type { ShapePoint } from "../args.ts";

/** The highest score that a shape of the configuration can give; it is scaled to `maxScore`. */
const maxShapeScore = 10;
const maxUtilization = 100;

/**
 * The score of a share that is used, by a line through the points of the shape; what is overcommitted or
 * empty counts as wholly used.
 * Upstream: plugins/helper/shape_score.go, BuildBrokenLinearFunction
 */
export function scoreByShape(shape: readonly ShapePoint[]): (requested: number, capacity: number) => number {
  const points = shape.map(({ utilization, score }) => ({
    utilization,
    score: score * (maxScore / maxShapeScore),
  }));
  const at = (utilization: number): number => {
    let before: (typeof points)[number] | undefined;
    for (const point of points) {
      if (utilization <= point.utilization) {
        if (before === undefined) return point.score;
        const rise = (point.score - before.score) * (utilization - before.utilization);
        return before.score + Math.trunc(rise / (point.utilization - before.utilization));
      }
      before = point;
    }
    return before?.score ?? 0;
  };
  return (requested, capacity) =>
    capacity === 0 || requested > capacity
      ? at(maxUtilization)
      : at(Math.floor((requested * maxUtilization) / capacity));
}
