/** Events of the payment provider, as far as anything is made of them. */
import { OwnerId, ServiceError } from '@berth/contract';
import { z } from 'zod';

/** It may come in a database's text and a log's line. */
const Id = z.string().regex(/^[\x21-\x7e]{1,255}$/);
/** A thing is told by its id, or in full where the account has it expanded. */
const Reference = z.union([Id, z.object({ id: Id }).transform(({ id }) => id)]);
const Time = z
  .int()
  .min(0)
  .max(253_402_300_799)
  .transform((seconds) => new Date(seconds * 1000));

/** What is not of its form counts as absent, so that no event, however odd, is more than an event that says nothing. */
const maybe = <S extends z.ZodType>(schema: S) => schema.nullable().catch(null);
const listOf = <S extends z.ZodType>(schema: S) => maybe(z.object({ data: z.array(maybe(schema)) }));

const Metadata = z.object({ owner: maybe(OwnerId), tier: maybe(z.string()) });
/** Of a subscription or of an invoice. Where the price stands in it depends on the version of the API that the account is set to. */
const Line = z.object({
  amount: maybe(z.number()),
  price: maybe(Reference),
  pricing: maybe(z.object({ price_details: maybe(z.object({ price: maybe(Reference) })) })),
});
const Details = z.object({ metadata: maybe(Metadata), subscription: maybe(Reference) });

/** A checkout session, a subscription or an invoice. */
const Subject = z.object({
  id: maybe(Id),
  created: maybe(Time),
  status: maybe(z.string()),
  payment_status: maybe(z.string()),
  customer: maybe(Reference),
  subscription: maybe(Reference),
  metadata: maybe(Metadata),
  items: listOf(Line),
  lines: listOf(Line),
  parent: maybe(z.object({ subscription_details: maybe(Details) })),
  subscription_details: maybe(Details),
});
export type Subject = z.infer<typeof Subject>;

const Event = z.object({ id: Id, type: z.string().min(1).max(255), created: Time, data: z.object({ object: Subject }) });
export type Event = z.infer<typeof Event>;

/** Throws ServiceError bad_request for what is no event. */
export function parseEvent(text: string): Event {
  const parsed = Event.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  throw new ServiceError(
    'bad_request',
    'The body should be an event in Stripe’s form: a JSON object with `id`, `type`, `created` and `data.object`.',
  );
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
