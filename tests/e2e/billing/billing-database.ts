/** Reads the service's database directly on a second connection. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, types, type CustomTypesConfig } from 'pg';

export interface Account {
  balance: number;
  held: number;
  /** The number of holds. */
  holds: number;
  /** Credits to the wallet by source account. */
  given: Record<string, number>;
  /** Charges of the wallet by target account. */
  charged: Record<string, number>;
  meters: { meterId: string; actions: number; sessions: number; egressBytes: number }[];
}

const numbers: CustomTypesConfig = {
  getTypeParser: (id, format) => (id === types.builtins.INT8 ? Number : types.getTypeParser(id, format)),
};

export class BillingDatabase {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** Connects to the embedded database of a data folder, which keeps running when the service is killed. */
  static async open(dataDir: string): Promise<BillingDatabase> {
    // The fifth line contains the socket's folder.
    const [, , , , host = ''] = readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8').split('\n');
    const client = new Client({ host, user: 'berth', database: 'postgres', types: numbers });
    await client.connect();
    return new BillingDatabase(client);
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** The account of an owner in one snapshot. Amounts are millionths of a credit. */
  async account(owner: string): Promise<Account> {
    const {
      rows: [row],
    } = await this.#client.query<{ account: Account }>(accountQuery, [owner]);
    if (!row) throw new Error('the query returned no row');
    return row.account;
  }

  /** Every row of every table, as text. */
  async everything(): Promise<string> {
    const { rows: tables } = await this.#client.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await this.#client.query<{ text: string }>(`select each::text as text from ${name} each`);
      texts.push(...rows.map(({ text }) => `${name}: ${text}`));
    }
    return texts.join('\n');
  }
}

const accountQuery = `
  select json_build_object(
    'balance', coalesce((select balance from wallets where owner_id = $1), 0),
    'held', coalesce((select held from wallets where owner_id = $1), 0),
    'holds', (select count(*) from credit_holds where owner_id = $1),
    'given', (select coalesce(json_object_agg(account, sum), '{}') from (
      select from_account as account, sum(amount) from credit_journal where to_account = 'wallet:' || $1 group by 1) given),
    'charged', (select coalesce(json_object_agg(account, sum), '{}') from (
      select to_account as account, sum(amount) from credit_journal where from_account = 'wallet:' || $1 group by 1) charged),
    'meters', (select coalesce(json_agg(json_build_object('meterId', meter_id, 'actions', actions, 'sessions', sessions, 'egressBytes', egress_bytes)), '[]')
      from usage_meters where owner_id = $1)
  ) as account`;
