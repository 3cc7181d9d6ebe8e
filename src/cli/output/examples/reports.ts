export const REPORTS = `
report overview
report overview --days 30
report house --days 7
report house --days 7 -o markdown
report traders
report traders --days 30 -o csv
report funding
report funding --days 30 -o csv

risk
risk --status suspended,closed

hedge
hedge -o json
`;
