module dray.test/api/origin

go 1.26.0
