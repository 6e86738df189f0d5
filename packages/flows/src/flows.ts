/** Named work in a page: flows, templates, and what turns their steps into programs of others. */
export { FlowError } from './failure.ts';
export { toJsonSchema, type Flow, type FlowInfo } from './flow.ts';
export { FlowRun, type FlowNavigator } from './flow-run.ts';
export { exportPlaywright } from './export/playwright.ts';
export { exportRecording } from './export/recording.ts';
export { LlmClient, type LlmConfig } from './llm/client.ts';
export { createLlmTask } from './llm/llm-task.ts';
export { flows, templates } from './registry.ts';
export { collectSecrets, redactSecrets, redactSecretWords, ResultTooLargeError, resultCharsMax, type Secrets } from './secrets.ts';
