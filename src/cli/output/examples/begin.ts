export const BEGIN = `
init acme
init acme --ci github --base-url https://predict.acme.com

demo
demo --port 8080 --no-crowd

doctor
doctor acme -o json

inbox
# money alone, and what ends within a week
inbox --kind withdrawal --kind key --within 7d
`;
