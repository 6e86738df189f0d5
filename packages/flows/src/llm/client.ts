/** Calls a language model at an OpenAI-compatible endpoint of the operator. What the endpoint says in an error is neither logged nor returned. */
import { z } from 'zod';
import { Deadline } from '@berth/lib/deadline.ts';
import { FlowError } from '../failure.ts';

export interface LlmConfig {
  /** Base URL, without `/chat/completions`. */
  url: string;
  model: string;
  key: string | null;
}

export interface LlmReply {
  text: string;
  tokens: number;
}

export interface LlmMessage {
  role: 'system' | 'user';
  content: string;
}

const requestMsMax = 60_000;
const responseBytesMax = 1024 * 1024;
const replyTokensMax = 1000;
/** Estimate where the endpoint does not count tokens. */
const charsPerToken = 4;

const Completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1),
  usage: z.object({ total_tokens: z.int().min(0) }).optional(),
});

export class LlmClient {
  readonly #config: LlmConfig;

  constructor(config: LlmConfig) {
    this.#config = config;
  }

  /** @throws FlowError llm_failed, and the signal's reason */
  async complete(messages: readonly LlmMessage[], { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }): Promise<LlmReply> {
    const { url, model, key } = this.#config;
    const request = { model, messages, temperature: 0, max_tokens: replyTokensMax, response_format: { type: 'json_object' } };
    const headers = { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
    try {
      const { choices, usage } = await Deadline.run({ signal, timeoutMs: Math.min(requestMsMax, timeoutMs) }, async (by) => {
        // A redirect would carry the page elsewhere.
        const init = { method: 'POST', headers, body: JSON.stringify(request), redirect: 'error', signal: by.signal } as const;
        const response = await fetch(`${url}/chat/completions`, init);
        if (!response.ok) throw failure(response.status === 429 || response.status >= 500);
        return Completion.parse(JSON.parse(await readText(response)));
      });
      const text = choices[0]?.message.content ?? '';
      const estimate = Math.ceil(messages.reduce((sum, { content }) => sum + content.length, text.length) / charsPerToken);
      return { text, tokens: usage?.total_tokens ?? estimate };
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof FlowError ? error : failure(true);
    }
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > responseBytesMax) throw failure(false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const failure = (retryable: boolean): FlowError =>
  new FlowError('llm_failed', 'The language model gave no usable answer. If this lasts, the operator has to check its endpoint.', {
    retryable,
  });
