/** A step as in a request, before it is parsed. */
export type FlowStep = Readonly<Record<string, unknown>>;
