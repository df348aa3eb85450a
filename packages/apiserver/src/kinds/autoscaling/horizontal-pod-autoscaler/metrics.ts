/**
 * The metrics of HorizontalPodAutoscalers: v1 has the fields of its former beta versions, which it shows in
 * annotations only, in the order in which upstream's types have them.
 */

/** A JSON object. */
export type Plain = Readonly<Record<string, unknown>>;

export function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Converts a metric of v2 to v1. */
export function oldSpec(metric: Plain): Plain {
  return converted(metric, {
    object: ({ describedObject, metric: id, target }) => ({
      target: describedObject,
      metricName: id?.["name"] ?? "",
      targetValue: target?.["value"] ?? "0",
      selector: id?.["selector"],
      averageValue: target?.["averageValue"],
    }),
    pods: ({ metric: id, target }) => ({
      metricName: id?.["name"] ?? "",
      targetAverageValue: target?.["averageValue"] ?? "0",
      selector: id?.["selector"],
    }),
    resource: ({ name, target }) => ({ name, ...oldTarget(target) }),
    containerResource: ({ name, target, container }) => ({ name, ...oldTarget(target), container }),
    external: ({ metric: id, target }) => ({
      metricName: id?.["name"] ?? "",
      metricSelector: id?.["selector"],
      targetValue: target?.["value"],
      targetAverageValue: target?.["averageValue"],
    }),
  });
}

function oldTarget(target: Plain | undefined): Plain {
  return {
    targetAverageUtilization: target?.["averageUtilization"],
    targetAverageValue: target?.["averageValue"],
  };
}

/** Converts a metric of v1 to v2. */
export function newSpec(metric: Plain): Plain {
  return converted(metric, {
    object: ({ target, metricName, targetValue, selector, averageValue }) => ({
      describedObject: target,
      metric: { name: metricName, selector },
      target:
        averageValue === undefined
          ? { type: "Value", value: targetValue }
          : {
              type: "AverageValue",
              // v1 always has this field: zero stands for none.
              value: String(targetValue ?? "0") === "0" ? undefined : targetValue,
              averageValue,
            },
    }),
    pods: ({ metricName, targetAverageValue, selector }) => ({
      metric: { name: metricName, selector },
      target: { type: "AverageValue", averageValue: targetAverageValue },
    }),
    resource: ({ name, ...target }) => ({ name, target: newTarget(target) }),
    containerResource: ({ name, container, ...target }) => ({ name, target: newTarget(target), container }),
    external: ({ metricName, metricSelector, targetValue, targetAverageValue }) => ({
      metric: { name: metricName, selector: metricSelector },
      target: {
        type: targetValue === undefined ? "AverageValue" : "Value",
        value: targetValue,
        averageValue: targetAverageValue,
      },
    }),
  });
}

function newTarget({ targetAverageUtilization, targetAverageValue }: Plain): Plain {
  return {
    type: targetAverageUtilization === undefined ? "AverageValue" : "Utilization",
    averageValue: targetAverageValue,
    averageUtilization: targetAverageUtilization,
  };
}

/** Converts the target of a metric of v2 to v1. */
export function oldStatus(metric: Plain): Plain {
  return converted(metric, {
    object: ({ describedObject, metric: id, current }) => ({
      target: describedObject,
      metricName: id?.["name"] ?? "",
      currentValue: current?.["value"] ?? "0",
      selector: id?.["selector"],
      averageValue: current?.["averageValue"],
    }),
    pods: ({ metric: id, current }) => ({
      metricName: id?.["name"] ?? "",
      currentAverageValue: current?.["averageValue"] ?? "0",
      selector: id?.["selector"],
    }),
    resource: ({ name, current }) => ({ name, ...oldCurrent(current) }),
    containerResource: ({ name, current, container }) => ({ name, ...oldCurrent(current), container }),
    external: ({ metric: id, current }) => ({
      metricName: id?.["name"] ?? "",
      metricSelector: id?.["selector"],
      currentValue: current?.["value"] ?? "0",
      currentAverageValue: current?.["averageValue"],
    }),
  });
}

function oldCurrent(current: Plain | undefined): Plain {
  return {
    currentAverageUtilization: current?.["averageUtilization"],
    currentAverageValue: current?.["averageValue"] ?? "0",
  };
}

/** Converts the target of a metric of v1 to v2. */
export function newStatus(metric: Plain): Plain {
  return converted(metric, {
    object: ({ target, metricName, currentValue, selector, averageValue }) => ({
      describedObject: target,
      metric: { name: metricName, selector },
      current: { value: currentValue, averageValue },
    }),
    pods: ({ metricName, currentAverageValue, selector }) => ({
      metric: { name: metricName, selector },
      current: { averageValue: currentAverageValue },
    }),
    resource: ({ name, ...current }) => ({ name, current: newCurrent(current) }),
    containerResource: ({ name, container, ...current }) => ({
      name,
      current: newCurrent(current),
      container,
    }),
    external: ({ metricName, metricSelector, currentValue, currentAverageValue }) => ({
      metric: { name: metricName, selector: metricSelector },
      current: { value: currentValue, averageValue: currentAverageValue },
    }),
  });
}

function newCurrent({ currentAverageUtilization, currentAverageValue }: Plain): Plain {
  return { averageValue: currentAverageValue, averageUtilization: currentAverageUtilization };
}

// biome-ignore lint/suspicious/noExplicitAny: the fields of a metric are read as the schema has checked them.
type Converters = Readonly<Record<string, (fields: any) => Plain>>;

function converted(metric: Plain, converters: Converters): Plain {
  const result: Record<string, unknown> = { type: metric["type"] };
  for (const [name, convert] of Object.entries(converters)) {
    if (isPlain(metric[name])) result[name] = defined(convert(metric[name]));
  }
  return result;
}

/** Returns the object without undefined fields. */
function defined(fields: Plain): Plain {
  return JSON.parse(JSON.stringify(fields));
}
