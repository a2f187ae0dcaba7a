import { Ledger } from '../../../sidecar/cost/ledger.ts';
import { pricesWith } from '../../../sidecar/cost/prices.ts';
import { MIGRATIONS } from '../../../sidecar/platform/migrations.ts';
import { Store } from '../../../sidecar/platform/store.ts';
import { SCANNER } from '../../support/scanner.ts';

/** A process that follows transcripts until it is killed: `node following.ts DATABASE TRANSCRIPT…`. */
const [database = '', ...transcripts] = process.argv.slice(2);
const ledger = Ledger.open(Store.open(database, MIGRATIONS), pricesWith());
process.stdout.write('ready\n');
for (;;) {
  const { requests } = await ledger.read(transcripts, SCANNER);
  if (requests > 0) process.stdout.write(`${requests}\n`);
}
