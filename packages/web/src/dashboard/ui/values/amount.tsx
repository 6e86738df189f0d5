/** Credits with two decimals; the exact value is the title. */
const rounded = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const signed = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: 'exceptZero' });
const exact = new Intl.NumberFormat(undefined, { maximumFractionDigits: 6 });

/** The smallest amount that two decimals show. */
const shownMin = 0.005;

interface AmountProps {
  credits: number;
  /** Shows a plus for what was added. */
  isSigned?: boolean;
}

export const Amount = ({ credits, isSigned = false }: AmountProps) => (
  <data value={credits} title={`${exact.format(credits)} credits`}>
    {credits !== 0 && Math.abs(credits) < shownMin
      ? `${credits < 0 ? '−' : ''}< ${rounded.format(0.01)}`
      : (isSigned ? signed : rounded).format(credits)}
  </data>
);
