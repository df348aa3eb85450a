package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Site is the custom kind.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec"`
	Status            SiteStatus `json:"status,omitempty"`
}

// SiteSpec is what a user wants.
type SiteSpec struct {
	Title string `json:"title"`
}

// SiteStatus is what the reconciler has made of it.
type SiteStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Title              string `json:"title,omitempty"`
}

// SiteList holds Sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

// DeepCopyObject copies all of it.
func (s *Site) DeepCopyObject() runtime.Object {
	site := *s
	s.ObjectMeta.DeepCopyInto(&site.ObjectMeta)
	return &site
}

// DeepCopyObject copies all of it.
func (l *SiteList) DeepCopyObject() runtime.Object {
	list := *l
	l.ListMeta.DeepCopyInto(&list.ListMeta)
	list.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		list.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return &list
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	one := int64(1)
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	title := apiextensionsv1.JSONSchemaProps{Type: "string", MinLength: &one}
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: definitionName},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Singular: "site", Kind: "Site", ListKind: "SiteList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Required: []string{"spec"},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec":   {Type: "object", Required: []string{"title"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"title": title}},
						"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"observedGeneration": number, "title": text}},
					},
				}},
			}},
		},
	}
}
