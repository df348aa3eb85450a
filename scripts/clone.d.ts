export function program(args: readonly string[]): Promise<string[]>;
