package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"

	"dray.test/interop/clients/steps"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

func tokens(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(rest.CopyConfig(config)))
	if err != nil {
		return err
	}
	accounts := client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "interop-robot"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	expiration := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &expiration}}
	answer, err := accounts.CreateToken(ctx, "interop-robot", request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	user := fmt.Sprintf("system:serviceaccount:%s:interop-robot", namespace)
	review, err := client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: answer.Status.Token}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := steps.Want("the user of the token", review.Status.User.Username, user); err != nil {
		return err
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = answer.Status.Token
	robot, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	self, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := steps.Want("who it is", self.Status.UserInfo.Username, user); err != nil {
		return err
	}
	if _, err := robot.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return fmt.Errorf("it may list secrets: %v", err)
	}
	own.BearerToken = "nothing"
	nobody, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	if _, err := nobody.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		return fmt.Errorf("a bad token is not refused: %v", err)
	}
	return nil
}

func accessReviews(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	reader := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "interop-reader"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}, ResourceNames: []string{"one"}}}}
	if _, err := client.RbacV1().Roles(namespace).Create(ctx, reader, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "interop-reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "interop-reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "interop-readers"}}}
	if _, err := client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	may := func(ctx context.Context, name string) (bool, error) {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "someone", Groups: []string{"interop-readers"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Resource: "pods", Name: name}}}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	}
	if err := steps.Eventually(ctx, "the group may read its pod", func(ctx context.Context) (bool, error) { return may(ctx, "one") }); err != nil {
		return err
	}
	if allowed, err := may(ctx, "two"); err != nil || allowed {
		return fmt.Errorf("the group may read another pod: %v", err)
	}
	rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if len(rules.Status.ResourceRules) == 0 || rules.Status.ResourceRules[0].Verbs == nil {
		return fmt.Errorf("the administrator has no rules: %v", rules.Status)
	}
	return nil
}

func signing(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(rest.CopyConfig(config)))
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: namespace, Organization: []string{"interop"}}}, key)
	if err != nil {
		return err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}}}
	created, err := requests.Create(ctx, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status.Conditions = append(created.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Interop", Message: "approved"})
	if _, err := requests.UpdateApproval(ctx, created.Name, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := steps.Eventually(ctx, "the certificate is signed", func(ctx context.Context) (bool, error) {
		created, err = requests.Get(ctx, created.Name, metav1.GetOptions{})
		return err == nil && len(created.Status.Certificate) > 0, err
	}); err != nil {
		return err
	}
	own := rest.AnonymousClientConfig(config)
	own.CertData = created.Status.Certificate
	if own.KeyData, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return err
	}
	bearer, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	self, err := bearer.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := steps.Want("who the certificate is", self.Status.UserInfo.Username, namespace); err != nil {
		return err
	}
	return requests.Delete(ctx, created.Name, metav1.DeleteOptions{})
}
