// Package certtest makes certificates for tests of TLS.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	testing.TB
	// File is the path of the authority's own certificate (PEM).
	File string
	// Pool has the authority's own certificate.
	Pool *x509.CertPool

	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// New returns a new authority. The file of its certificate is in a temporary folder of the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{TB: t, File: filepath.Join(t.TempDir(), "ca.pem"), Pool: x509.NewCertPool()}
	template := a.template("authority of a test")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, key := a.sign(template, template, nil)
	cert, err := x509.ParseCertificate(der)
	a.must(err)
	a.cert, a.key = cert, key
	a.write(a.File, "CERTIFICATE", der)
	a.Pool.AddCert(cert)
	return a
}

// Issue writes a certificate and its key into dir, and returns their paths. The certificate has name as common name,
// and is for servers on loopback and for clients. Existing files are replaced, each in one step.
func (a *Authority) Issue(dir, name string) (certFile, keyFile string) {
	a.Helper()
	template := a.template(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	der, key := a.sign(template, a.cert, a.key)
	private, err := x509.MarshalECPrivateKey(key)
	a.must(err)
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	a.write(keyFile, "EC PRIVATE KEY", private)
	a.write(certFile, "CERTIFICATE", der)
	return certFile, keyFile
}

func (a *Authority) template(name string) *x509.Certificate {
	a.serial++
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// sign returns a new key and a certificate for it (DER), signed with the key by. If by is nil, the certificate is
// self-signed.
func (a *Authority) sign(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	a.must(err)
	return der, key
}

func (a *Authority) write(path, kind string, der []byte) {
	a.Helper()
	a.must(os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	a.must(os.Rename(path+".new", path))
}

func (a *Authority) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}
