/** Parses the fields of Stripe events that are used here. */
import { OwnerId, ServiceError } from '@berth/contract';
import { z } from 'zod';

/** Safe in the database and in log lines. */
const Id = z.string().regex(/^[\x21-\x7e]{1,255}$/);
/** An id, or the whole object where the account expands it. */
const Reference = z.union([Id, z.object({ id: Id }).transform(({ id }) => id)]);
const Time = z
  .int()
  .min(0)
  .max(253_402_300_799)
  .transform((seconds) => new Date(seconds * 1000));

/** Malformed fields count as absent, so that an unusual event is ignored instead of failing forever. */
const maybe = <S extends z.ZodType>(schema: S) => schema.nullable().catch(null);
const listOf = <S extends z.ZodType>(schema: S) => maybe(z.object({ data: z.array(maybe(schema)) }));

const Metadata = z.object({ owner: maybe(OwnerId), tier: maybe(z.string()) });
/** Of a subscription or an invoice. The place of the price depends on the account's API version. */
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

/** @throws ServiceError bad_request */
export function parseEvent(text: string): Event {
  const parsed = Event.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  throw new ServiceError('bad_request', 'The body must be a Stripe event: a JSON object with `id`, `type`, `created` and `data.object`.');
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
